"""One of each kind of notebook that people keep."""

from __future__ import annotations

WIDGET_STATE = "application/vnd.jupyter.widget-state+json"

KINDS = {
    "pandas": [
        "import pandas as pd\n"
        "frame = pd.DataFrame({'a': [1, 2, 3], 'b': [0.5, 0.25, 1 / 3]})",
        "frame.describe()",
        "frame.groupby('a').sum()",
    ],
    "matplotlib": [
        "import matplotlib.pyplot as plt",
        "plt.plot([1, 4, 9])\nplt.title('squares')\nplt.show()",
        "figure, axes = plt.subplots(2)\n"
        "axes[0].bar([1, 2], [3, 4])\nplt.show()",
    ],
    "training": [
        "from sklearn.datasets import load_iris\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.model_selection import train_test_split\n"
        "x, y = load_iris(return_X_y=True, as_frame=True)\n"
        "parts = train_test_split(x, y, random_state=7, stratify=y)",
        "model = LogisticRegression(max_iter=500).fit(parts[0], parts[2])\n"
        "model",
        "from sklearn.metrics import classification_report\n"
        "said = model.predict(parts[1])\n"
        "print(classification_report(parts[3], said))",
        "model.coef_.round(2)",
        "import numpy as np\n"
        "from sklearn.ensemble import RandomForestClassifier\n"
        "forest = RandomForestClassifier(20, random_state=7, oob_score=True)\n"
        "forest.fit(parts[0], parts[2])\n"
        "float(forest.oob_score_), forest.score(parts[1], parts[3])",
        "from sklearn.metrics import ConfusionMatrixDisplay\n"
        "ConfusionMatrixDisplay.from_predictions(parts[3], said);",
    ],
    "errors": [
        "def f(n):\n    return 1 / n",
        "f(0)",
        "f(2)",
        "undefined_name",
        "import warnings\nwarnings.warn('careful')",
    ],
    "displays": [
        "from IPython.display import HTML, JSON, clear_output, display",
        "handle = display('one', display_id='h')",
        "for i in range(3):\n    clear_output(wait=True)\n    print(i)",
        "handle.update('two')",
        "display(HTML('<b>x</b>'), JSON({'a': [1, 2.5]}))",
    ],
    "widgets": [
        "import ipywidgets as widgets\nfrom IPython.display import display",
        "rate = widgets.IntSlider(7, description='rate')\nrate",
        "progress = widgets.IntProgress(max=3)\n"
        "display(widgets.HBox([progress, widgets.HTML('<i>done</i>')]))\n"
        "for i in range(3):\n    progress.value += 1",
        "rate.value = 9\nrate.value",
        "import io\nimport matplotlib.pyplot as plt\nfile = io.BytesIO()\n"
        "plt.imsave(file, [[0, 1], [1, 0]])\n"
        "widgets.Image(value=file.getvalue(), width=40)",
    ],
    "long": ["for i in range(5000):\n    print(i, 'x' * 60)", "'y' * 100000"],
    "words": [
        "print('Grüße, 世界 🌍')\n'\\u2028 \\x1b[31mrot\\x1b[0m \\x85'",
        "größe = 1\ngröße",
    ],
}
