"""Uncertainty sets: frozen values that answer what robust optimisation asks.

Every set says whether it contains an outcome, what its worst case and support in a
direction are, what its bounds and its volume are, and which CVXPY constraints describe
it; it can be sampled, combined with others, written to a file and handed to other
tools.
"""

from .affine_image import AffineImage
from .as_dict import from_dict
from .ball import Ellipsoid, L1Ball
from .base import TOLERANCE, Exports, UncertaintySet
from .box import Box
from .budget import Budget
from .finite import Finite
from .intersection import Intersection
from .kl_ball import KLBall
from .label_set import LabelSet
from .mixed import Mixed
from .polytope import Polytope
from .product import Product
from .sublevel import Sublevel, sublevel_set
from .union import Union
from .variation_ball import VariationBall

__all__ = [
    "TOLERANCE",
    "AffineImage",
    "Box",
    "Budget",
    "Ellipsoid",
    "Exports",
    "Finite",
    "Intersection",
    "KLBall",
    "L1Ball",
    "LabelSet",
    "Mixed",
    "Polytope",
    "Product",
    "Sublevel",
    "UncertaintySet",
    "Union",
    "VariationBall",
    "from_dict",
    "sublevel_set",
]
