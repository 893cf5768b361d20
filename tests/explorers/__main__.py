"""Compares the explorers with torch and keeps how many cases agreed.

`python tests/explorers` compares all of them; names after it compare those alone.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from explorers import agreement

kept = json.loads(agreement.RECORD.read_text("utf-8"))
found = {
    name: agreement.record(name, agreement.ask_node)
    for name in sys.argv[1:] or sorted(agreement.EXPLORERS)
}
kept = {name: {**kept, **found}[name] for name in sorted(agreement.EXPLORERS)}
agreement.RECORD.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
sys.stdout.write(agreement.RECORD.read_text("utf-8"))
