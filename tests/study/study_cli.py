"""`leadhand study` as a program, for tests that kill it."""

import leadhand.cli
from leadhand.cli.app import app
from leadhand.cli.study import register

if not any(group.name == "study" for group in app.registered_groups):
    register(app)
leadhand.cli.main()
