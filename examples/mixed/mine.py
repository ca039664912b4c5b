"""Two pipelines."""

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

learners = {
    "near": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    "linear": make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()),
}
