#!/usr/bin/env python3
"""Check the witnesses of all records: run the file ``check.py`` of every problem.

It needs Python 3.9 or newer, and shares no code with starcast. Each of the files can be read and
run alone. Why nothing better exists, the bound of a record, is not checked here.
"""

import pathlib
import runpy

for each in sorted(pathlib.Path(__file__).parent.glob("*/check.py")):
    runpy.run_path(str(each), run_name="__main__")
