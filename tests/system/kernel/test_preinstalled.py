"""The packages of a profile in its zygote, which is in no sandbox: what finds
them, and until when."""

import json

from conftest import run_python

# The modules `own` and `named` import `hidden` if they can.
TRY = "try:\n    import hidden\nexcept ImportError:\n    hidden = None\n"
WARM = """
import json, sys
sys.path.insert(0, {own!r})
from hearth_kernel import environment, warm
from hearth_kernel.packages import preinstalled
environment.have_preinstalled({there!r})
loaded, missing = warm.preload(["own", "named", "lacking"])
found = {{
    "loaded": loaded,
    "missing": [one["name"] for one in missing],
    "own": sys.modules["own"].hidden is not None,
    "named": sys.modules["named"].hidden is not None,
    "left": {there!r} in sys.path,
}}
sys.modules.pop("hidden")
try:
    import hidden
    found["later"] = True
except ImportError:
    found["later"] = False
sys.path[:] = ["", "/lib/python", "/x/site-packages", "/y/dist-packages"]
preinstalled.add_place()
found["place"] = sys.path.index({there!r})
found["names"] = [preinstalled.has(name) for name in ("named.x", "own")]
environment.settle({{}})
import os
found["variables"] = [os.environ["PYTHONPATH"], os.environ["PATH"][-4:]]
print(json.dumps(found))
"""


def test_only_modules_that_are_named_find_them(tmp_path):
    own, there = tmp_path / "own", tmp_path / "there"
    for folder in (own, there):
        folder.mkdir()
    (own / "own.py").write_text(TRY)
    (there / "named.py").write_text(TRY)
    (there / "hidden.py").write_text("")
    code = WARM.format(own=str(own), there=str(there))
    assert json.loads(run_python(code)) == {
        "loaded": ["own", "named"],
        "missing": ["lacking"],
        "own": False,
        "named": True,
        "left": False,
        "later": False,
        "place": 2,
        "names": [True, False],
        "variables": [str(there), "/bin"],
    }
