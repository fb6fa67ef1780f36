"""Look at runs and studies in a browser. Reads run folders only: every page is a fold of journals."""
