"""Decision-aware calibration: the smallest level at which decisions keep their word."""
