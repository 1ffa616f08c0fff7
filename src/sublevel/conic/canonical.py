"""What is read from CVXPY's canonical form. No other module looks at it.

Two readings: the cone rows of one constraint (`cone_form`), as affine functions of
variables and parameters; and a whole problem (`cone_program`), as data affine in its
parameters, in the order and signs Clarabel takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions import cvx_attr2constr
from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeMatrixStuffing
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.inverse_data import InverseData
from cvxpy.reductions.solvers.solving_chain_utils import get_canon_backend
from cvxpy.utilities.coeff_extractor import CoeffExtractor
from cvxpy.utilities.scopes import dpp_scope

from ..errors import NotRobustifiable
from .cone_form import Cone, ConeForm, Terms
from .program import ConeProgram, Indices, Uncompilable, rows_of

if TYPE_CHECKING:
    from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeDims, ParamConeProg

#: Kinds of cones with their sizes, or exponents, in the order of the rows.
Cones = tuple[tuple[str, float], ...]

#: Numbers in parameters from which on CVXPY's sparse backend is the faster one. Others
#: take a time quadratic in them.
MANY, SPARSE = 60, cp.settings.COO_CANON_BACKEND


def _backend(problem: cp.Problem) -> str | None:
    """Which of CVXPY's backends reads the coefficients: they all agree."""
    numbers = sum(parameter.size for parameter in problem.parameters())
    return SPARSE if numbers >= MANY else None


def cone_form(*constraints: cp.Constraint) -> ConeForm:
    """The cone rows of constraints that follow the DPP rules."""
    problem = cp.Problem(cp.Minimize(0), list(constraints))
    own = {variable.id for variable in problem.variables()}
    conic, _ = Dcp2Cone(quad_obj=False).apply(problem)
    stuffing = ConeMatrixStuffing(quad_obj=False, canon_backend=_backend(problem))
    program, _ = stuffing.apply(conic)
    covered = {constraint.id for constraint in program.constraints}
    lost = [c for c in conic.constraints if c.id not in covered]
    if lost or any(variable.is_complex() for variable in conic.variables()):
        kinds = sorted({type(c).__name__ for c in lost}) or ["complex variables"]
        raise NotRobustifiable(
            f"The constraint {'; '.join(map(str, constraints))} cannot be made robust: "
            f"its cone form does not cover {', '.join(kinds)}. Write it with <=, >= "
            "and CVXPY's atoms."
        )
    by_id = {variable.id: variable for variable in conic.variables()}
    columns = tuple(
        (by_id[i], slice(start, start + by_id[i].size))
        for i, start in sorted(program.var_id_to_col.items(), key=lambda item: item[1])
    )
    constant, parameters = _terms(
        program.A,
        (program.constr_size, program.x.size + 1),
        program.parameters,
        program.param_id_to_col,
    )
    return ConeForm(
        columns,
        frozenset(by_id) - own,
        constant,
        parameters,
        _cones(program.constraints, {c.id: c for c in conic.constraints}),
    )


def affine_form(expression: cp.Expression) -> ConeForm:
    """The entries of an expression, column by column, as the rows of `cone_form` are.

    One that is affine needs no auxiliary variables: its coefficients are read at once.
    """
    constraint = cp.NonNeg(expression)
    problem = cp.Problem(cp.Minimize(0), [constraint])
    variables = problem.variables()
    with dpp_scope():
        affine = expression.is_affine()
    if not affine or any(variable.is_complex() for variable in variables):
        return cone_form(constraint)
    places = InverseData(problem)
    backend = get_canon_backend(problem, _backend(problem))
    tensor = CoeffExtractor(places, backend).affine(expression)
    shape = (expression.size, places.x_length + 1)
    starts = [(places.var_offsets[v.id], v) for v in variables]
    starts.sort(key=lambda pair: pair[0])
    constant, parameters = _terms(
        tensor, shape, problem.parameters(), places.param_id_map
    )
    return ConeForm(
        tuple((v, slice(start, start + v.size)) for start, v in starts),
        frozenset(),
        constant,
        parameters,
        (Cone("nonneg", slice(0, expression.size), constraint),),
    )


def _terms(
    tensor: Any,
    shape: tuple[int, int],
    own: list[cp.Parameter],
    starts: dict[int, int],
) -> tuple[Any, dict[Any, Terms]]:
    """The constant matrix and the terms of every parameter.

    Parameters
    ----------
    tensor : sparse, CVXPY's: entries of a matrix down its columns, by slot
    shape : of that matrix; its last column is the constant
    own, starts : the parameters, and where the slots of each begin, by its id
    """
    tensor = sp.coo_array(tensor)
    position, slot = tensor.coords
    row, column, value = position % shape[0], position // shape[0], tensor.data
    last = slot == tensor.shape[1] - 1
    constant = sp.csr_array((value[last], (row[last], column[last])), shape=shape)
    order = np.argsort(row, kind="stable")
    parameters = {}
    for parameter in own:
        entry = slot[order] - starts[parameter.id]
        mine = order[(entry >= 0) & (entry < parameter.size)]
        entry = slot[mine] - starts[parameter.id]
        parameters[parameter] = Terms(row[mine], column[mine], entry, value[mine])
    return constant, parameters


def _cones(constraints: list[Any], written: dict[int, Any]) -> tuple[Cone, ...]:
    names = {"Zero": "zero", "NonNeg": "nonneg"}
    cones, start = [], 0
    for constraint in constraints:
        size = sum(argument.size for argument in constraint.args)
        kind = type(constraint).__name__
        rows = slice(start, start + size)
        cones.append(Cone(names.get(kind, kind), rows, written[constraint.id]))
        start += size
    return tuple(cones)


def cone_program(
    problem: cp.Problem, labels: dict[int, str], quadratic: bool = True
) -> ConeProgram:
    """A problem that follows the DPP rules, as Clarabel takes it.

    Uncompilable where it does not.

    Parameters
    ----------
    labels : id of a parameter -> name of its slot
    quadratic : whether the objective may be quadratic; otherwise it is linear, and
        curvature is in the cones
    """
    program, renamed = _stuffed(problem, quadratic)
    indices, indptr, A, b = _matrix(program)
    cones = _clarabel_cones(program.cone_dims)
    A, b = _without_infinite_rows(indices, A, b, cones)
    q = sp.csr_array(program.q)
    P_where, P = condensed(
        sp.coo_array((0, q.shape[1]) if program.P is None else program.P)
    )
    return ConeProgram(
        cones,
        1.0 if isinstance(problem.objective, cp.Minimize) else -1.0,
        indices,
        indptr,
        P_where,
        P,
        q,
        A,
        b,
        _slots(program, labels),
        _entries(problem, program, renamed),
    )


def _stuffed(
    problem: cp.Problem, quadratic: bool
) -> tuple[ParamConeProg, dict[int, cp.Variable]]:
    """The program with its parameters, and what stands for variables that have bounds.

    `Problem.get_problem_data` would do the same, and then fill the parameters in.
    """
    try:
        chain = problem._construct_chain(
            solver=cp.CLARABEL,
            enforce_dpp=True,
            canon_backend=_backend(problem),
            solver_opts={"use_quad_obj": quadratic},
        )
    except cp.error.DPPError as error:
        raise Uncompilable(
            "ordinary parameters do not enter linearly (DPP), so their values cannot "
            "change in a compiled program"
        ) from error
    *steps, solver = chain.reductions
    reduced, renamed = problem, {}
    for step in steps:
        reduced, inverse = step.apply(reduced)
        if isinstance(step, cvx_attr2constr.CvxAttr2Constr) and inverse:
            renamed = inverse[0]
    if not reduced.formatted:
        reduced = solver.format_constraints(reduced, solver.EXP_CONE_ORDER)
    for table in (reduced.A, reduced.P):
        # As filling in does: terms that cancelled are no entries.
        if table is not None:
            table.eliminate_zeros()
    return reduced, renamed


def _slots(program: ParamConeProg, labels: dict[int, str]) -> dict[str, slice]:
    """Where each parameter is; CVXPY renames those with a structure."""
    slots = {}
    for parameter in program.parameters:
        if parameter.id not in labels:
            raise Uncompilable("a parameter is a symmetric, diagonal or sparse matrix")
        start = program.param_id_to_col[parameter.id]
        slots[labels[parameter.id]] = slice(start, start + parameter.size)
    return slots


def _entries(
    problem: cp.Problem, program: ParamConeProg, renamed: dict[int, cp.Variable]
) -> dict[int, sp.csr_array]:
    """Every variable's entries, column by column, as linear functions of the columns.

    CVXPY renames variables with a sign or bounds, and halves symmetric ones.
    """
    reduced = {variable.id: variable for variable in program.variables}
    entries = {}
    for variable in problem.variables():
        own = reduced.get(renamed.get(variable.id, variable).id)
        if own is None:
            entries[variable.id] = sp.csr_array((variable.size, program.x.size))
            continue
        start = program.var_id_to_col[own.id]
        recovery = _recovery(variable, own)
        columns = recovery.indices + start
        shape = (variable.size, program.x.size)
        table = (recovery.data, columns, recovery.indptr)
        entries[variable.id] = sp.csr_array(table, shape=shape)
    return entries


def _recovery(variable: cp.Variable, reduced: cp.Variable) -> sp.csr_array:
    """A leaf's entries from those of the plain one that stands for it."""
    if reduced.size == variable.size and not _is_structured(variable):
        return sp.eye_array(variable.size, format="csr")
    units = np.eye(reduced.size).reshape(reduced.size, *reduced.shape)
    recover = cvx_attr2constr.recover_value_for_leaf
    whole = [recover(variable, unit, project=False) for unit in units]
    columns = [
        np.ravel(w.toarray() if sp.issparse(w) else np.asarray(w), order="F")
        for w in whole
    ]
    return sp.csr_array(np.column_stack(columns))


def _is_structured(leaf: cp.Variable | cp.Parameter) -> bool:
    names = ("symmetric", "PSD", "NSD", "diag", "sparsity", "hermitian")
    return any(bool(leaf.attributes.get(name)) for name in names)


def _without_infinite_rows(
    indices: Indices, A: sp.csr_array, b: sp.csr_array, cones: Cones
) -> tuple[sp.csr_array, sp.csr_array]:
    """Rows `... <= inf` say nothing, and a solver may not take the infinity."""
    if not np.isposinf(b.data).any():
        return A, b
    endless = np.unique(b.tocoo().coords[0][np.isposinf(b.tocoo().data)])
    linear = np.zeros(b.shape[0], dtype=bool)
    start = 0
    for kind, size in cones:
        linear[start : start + rows_of(kind, size)] = kind == "nonneg"
        start += rows_of(kind, size)
    endless = endless[linear[endless]]
    if not endless.size:
        return A, b
    kept = np.ones(b.shape[0])
    kept[endless] = 0.0
    A = sp.csr_array(sp.diags_array(kept[indices]) @ A)
    b = b.copy()
    b.data[np.isposinf(b.data)] = 1.0
    return A, b


def _matrix(program: ParamConeProg) -> tuple[Any, Any, Any, Any]:
    """Pattern of A by column, and the tables of its entries and of b."""
    tensor, width = sp.coo_array(program.A), program.x.size
    position, slot = tensor.coords
    rows = tensor.shape[0] // (width + 1)
    last = position >= rows * width
    b = sp.csr_array(
        (tensor.data[last], (position[last] - rows * width, slot[last])),
        shape=(rows, tensor.shape[1]),
    )
    inner = sp.coo_array(
        (-tensor.data[~last], (position[~last], slot[~last])), shape=tensor.shape
    )
    # Positions run down the columns, so their order is that of a pattern by column.
    pattern, A = condensed(inner)
    counts = np.bincount(pattern // rows, minlength=width)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return pattern % rows, indptr, A, b


def condensed(tensor: sp.coo_array) -> tuple[Any, Any]:
    """The rows of a tall sparse table that have entries, and the table of them."""
    position, slot = tensor.coords
    rows, entry = np.unique(position, return_inverse=True)
    shape = (len(rows), tensor.shape[1])
    return rows, sp.csr_array((tensor.data, (entry, slot)), shape=shape)


def _clarabel_cones(dims: ConeDims) -> Cones:
    cones = [("zero", dims.zero), ("nonneg", dims.nonneg)]
    cones += [("soc", size) for size in dims.soc]
    cones += [("psd", size) for size in dims.psd]
    cones += [("exp", 3)] * dims.exp
    cones += [("power", exponent) for exponent in dims.p3d]
    if getattr(dims, "pnd", None):
        raise Uncompilable("the model has a power cone of several dimensions")
    return tuple((kind, size) for kind, size in cones if size)
