import sys

from leadhand.testing.provider.process import main

sys.exit(main())
