"""Models that predict a spread. Networks, which need torch, are in `models.nets`."""

from .mean_covariance import MeanCovarianceRegressor
from .mean_variance import MeanVarianceRegressor

__all__ = ["MeanCovarianceRegressor", "MeanVarianceRegressor"]
