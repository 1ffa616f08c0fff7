"""What held-out data say about a model and its sets, before a promise is relied on.

Some promises need nothing but exchangeable data, others what no data can prove. Here
is looked for what would void the first kind (rows used twice, too few of them) and for
evidence against what the second kind asserts; and for what would make sets smaller.
"""

from .diagnosis import diagnose
from .findings import Check, Findings

__all__ = ["Check", "Findings", "diagnose"]
