"""Compares the explorers with torch and keeps how many cases agreed: `python tests/explorers`."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from explorers import agreement

found = {name: agreement.record(name, agreement.ask_node) for name in sorted(agreement.EXPLORERS)}
agreement.RECORD.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
sys.stdout.write(agreement.RECORD.read_text("utf-8"))
