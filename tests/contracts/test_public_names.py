"""Public names are those that a user needs: helpers of estimators are private."""

import pytest

from coterie.methods import methods

# What scikit-learn's base classes and mixins bring.
SCIKIT_LEARN = {
    "fit", "fit_predict", "fit_transform", "get_feature_names_out", "get_metadata_routing", "get_params", "predict",
    "score", "set_callbacks", "set_fit_request", "set_output", "set_params", "set_partial_fit_request",
    "set_predict_request", "set_score_request", "transform",
}  # fmt: skip

OWN = {
    "aic", "bic", "centroids_of", "check_parameters", "cut", "denoise", "index_at", "labels_at",
    "layers_at", "memberships", "partial_fit", "plot", "plot_dendrogram", "plot_tree",
    "predict_proba", "outlier_scores", "report", "responsibilities", "sample", "save", "score_samples",
}  # fmt: skip


@pytest.mark.parametrize(
    "estimator", [method.estimator for method in methods()], ids=lambda known: known.__name__
)
def test_names_of_estimators(estimator):
    names = {name for name in dir(estimator) if not name.startswith("_") and not name.endswith("_")}
    # Bisecting k-means has one metric, which is no parameter.
    assert names <= SCIKIT_LEARN | OWN | {"metric", "zero_rows"}
