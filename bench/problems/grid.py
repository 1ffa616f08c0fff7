"""Flow on a K x K grid of nodes, edges to the right and down."""

import numpy as np
import scipy.sparse as sp


def grid(side):
    """Node-edge incidence without its redundant last row, and the supplies."""
    node = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    edge = np.arange(tail.size)
    rows, columns = np.concatenate([tail, head]), np.concatenate([edge, edge])
    signs = np.concatenate([np.ones(tail.size), -np.ones(tail.size)])
    shape = (side * side, tail.size)
    incidence = sp.csc_matrix((signs, (rows, columns)), shape=shape)
    supply = np.zeros(side * side)
    supply[0] = 1.0
    return incidence[:-1], supply[:-1]
