"""Write 8,000 rows of three classes."""

from pathlib import Path

from sklearn.datasets import make_classification

features, labels = make_classification(
    8000, 6, n_informative=5, n_redundant=1, n_classes=3, class_sep=0.9, random_state=0
)
lines = [
    ",".join([*(f"{value:.4f}" for value in row), "abc"[label]]) for row, label in zip(features, labels, strict=True)
]
Path("rows.csv").write_text("\n".join(["p,q,r,s,t,u,label", *lines]) + "\n", encoding="utf-8")
