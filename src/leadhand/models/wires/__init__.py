"""One codec per wire: a conversation in, bytes out; an answer in, a neutral view beside the native items out."""
