"""Typed face of the compiled module. Arguments are given by position. Arrays are C-contiguous and of the right
type (what is read as float64 is converted); IN unless marked; T is float32 or float64.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

__version__: str

# --- machine: instruction sets, sizes, blocks of rows

ROW_QUANTUM: int
LINE_BYTES: int

def instruction_set() -> str: ...
def available_instruction_sets() -> list[str]: ...
def use_instruction_set(name: str) -> None: ...

class DenseRowsFloat32: ...
class DenseRowsFloat64: ...
class SparseRowsFloat32: ...
class SparseRowsFloat64: ...

Rows = DenseRowsFloat32 | DenseRowsFloat64 | SparseRowsFloat32 | SparseRowsFloat64

def dense_rows(array: Array) -> Rows: ...
def sparse_rows(values: Array, columns: Ints, starts: Ints, n_columns: int) -> Rows: ...
def select_rows(rows: Rows, selection: Longs) -> Rows: ...

# --- centers

# OUT after (k, d): shift + sums / masses.
def move_centers(
    sums: Doubles, masses: Doubles, shift: Doubles, before: Array, after: Array, n_threads: int
) -> None: ...

# OUT relative (k, d), squares (k,), offsets (k,).
def relate_centers(
    centers: Array, shift: Doubles, relative: Array, squares: Doubles, offsets: Array, n_threads: int
) -> None: ...

# IN left in float64, or in the type of right; OUT dots (k,), squares (k,) of the differences.
def compare_centers(left: Array, right: Array, dots: Doubles, squares: Doubles, n_threads: int) -> None: ...

# OUT ids (n, m), scores (n, m); IN/OUT where first_id > 0: the lists of the centers before are continued.
class ExactCentersFloat32: ...
class ExactCentersFloat64: ...

ExactCenters = ExactCentersFloat32 | ExactCentersFloat64

# IN centers (k, d) in the coordinates of the rows, relative to the shift (d,), with offsets and squares (k,) as of
# relate_centers; own_squares (k,) of `centers`, for sparse rows; order (k,): by their lengths.
def exact_centers(
    centers: Array,
    relative: Array,
    offsets: Array,
    squares: Doubles,
    own_squares: Doubles | None,
    shift: Doubles,
    order: Ints,
) -> ExactCenters: ...

# Least numbers of columns and centers with which products of bytes are faster than those of floats, and of columns with
# which bounds are faster than all products of bytes; zeros where the instruction set has no such products.
def byte_limits() -> tuple[int, int, int, int]: ...

# OUT labels (n,), squares (n,). filter: 0 the faster one, 1 products of bytes, 2 of floats. Returns the number of
# comparisons in float64.
def assign(
    rows: Rows, centers: ExactCenters, labels: Ints, squares: Doubles | None, n_threads: int, filter: int,
    known: Array | None,
) -> int: ...  # fmt: skip
def nearest(
    rows: Rows, centers: Array, offsets: Array, ids: Ints, scores: Array, n_threads: int, first_id: int
) -> None: ...

class RunningMeansFloat32: ...
class RunningMeansFloat64: ...

RunningMeans = RunningMeansFloat32 | RunningMeansFloat64

# IN/OUT all but shift (d,) and unit_length: centers and relative (k, d), offsets and squares (k,) as of relate_centers;
# means (k, d) relative to the shift, counts (k,); see cpp/include/coterie/centers/running_means.hpp.
def running_means(
    centers: Array,
    relative: Array,
    offsets: Array,
    squares: Doubles,
    shift: Doubles,
    means: Doubles,
    counts: Doubles,
    unit_length: bool,
) -> RunningMeans: ...

# Batch b is the rows before ends[b]; memories: one for each batch. IN/OUT sums (k, d) relative to the shift, masses
# (k,): those of the rows are added. OUT inertias: one for each batch, with the centers before it.
def take_batches(
    rows: Rows,
    weights: Array | None,
    ends: Longs,
    memories: Doubles,
    inertias: Doubles,
    means: RunningMeans,
    sums: Doubles | None,
    masses: Doubles | None,
    n_threads: int,
) -> None: ...

# IN sums (k, d) relative to the shift, masses (k,): those of a batch.
def take_sums(sums: Doubles, masses: Doubles, memory: float, means: RunningMeans, n_threads: int) -> None: ...

class BoundedOptionsFloat32: ...
class BoundedOptionsFloat64: ...

BoundedOptions = BoundedOptionsFloat32 | BoundedOptionsFloat64

# What is the same for all rows in one iteration; see BoundedStep in cpp/include/coterie/centers/bounded.hpp.
def bounded_options(
    order: Ints,
    slots: Ints,
    panels_per_group: int,
    drift: Array,
    cumulative_drift: Array,
    length: float,
    bias: int,
    unit: float,
) -> BoundedOptions: ...

# IN/OUT labels (n,), upper (n,), lower (n, n_bounds), stored as in machine/stored_bounds.hpp.
# Returns the number of labels that changed.
def bounded_assign(
    rows: Rows,
    centers: ExactCenters,
    options: BoundedOptions,
    first: bool,
    squares: Array,
    labels: Ints,
    upper: Array,
    lower: Array,
    n_threads: int,
) -> int: ...

# IN/OUT sums (k, d), masses (k,).
def add_to_clusters(
    rows: Rows,
    labels: Ints,
    before: Ints | None,
    weights: Array | None,
    shift: Doubles,
    sums: Doubles,
    masses: Doubles,
    n_threads: int,
) -> None: ...

# OUT squares (n,).
def own_square_distances(
    rows: Rows, centers: Doubles, center_squares: Doubles, labels: Ints, squares: Doubles, n_threads: int
) -> None: ...

# Of dense rows. The distance to center c is precisions[c] * ||(x - centers[c]) * scales[c]||^2 + offsets[c].
# IN/OUT ids (n, m): sorted by distance; OUT distances (n, m).
def distances_to_listed(
    rows: Rows,
    centers: Array,
    scales: Array | None,
    precisions: Array,
    offsets: Array,
    ids: Ints,
    distances: Array,
    n_threads: int,
) -> None: ...

# IN ids, scores (n, m), duals (k,); OUT of the least score plus dual: labels (n,) and values (n,); seconds (n,) and
# margins (n,) are the label of the next one and the difference of both values (infinity if m is 1).
def least_of_lists(
    ids: Ints,
    scores: Array,
    duals: Doubles,
    labels: Ints,
    values: Doubles,
    seconds: Ints,
    margins: Doubles,
    n_threads: int,
) -> None: ...

# --- seeding: D^2 sampling

# IN squares, nearest (n,). Returns proposals, rows and squares of all pairs.
def pairs_in_reach(
    rows: Rows, proposals: Array, offsets: Array, squares: Array, nearest: Array, n_threads: int
) -> tuple[Ints, Ints, Array]: ...

# --- graphs: nearest neighbors

# Points that may be among the m nearest of n rows, by products of bytes. IN/OUT limits (n + NEAR_PADDING),
# uppers (n, m), lowers, ids (n, capacity), sizes (n,); see cpp/include/coterie/graphs/nearest_by_bytes.hpp.
# IN dense rows and points relative to one point amid them, with the numbers of the first, unit (a power of 2 that
# brings the largest coordinate close to 1), serves_points: whether the lists of the points are kept, too.
NEAR_PADDING: int

def nearest_by_bytes(
    limits: Array,
    uppers: Array,
    lowers: Array,
    ids: Ints,
    sizes: Ints,
    rows: Rows,
    first: int,
    points: Rows,
    first_point: int,
    unit: float,
    serves_points: bool,
    n_threads: int,
) -> None: ...

# Of dense rows. IN row_groups (n,), center_groups (k,); OUT ids (n, m), squares (n, m).
def nearest_apart(
    rows: Rows,
    centers: Array,
    row_groups: Ints,
    center_groups: Ints,
    ids: Ints,
    squares: Array,
    n_threads: int,
) -> None: ...

# Of dense rows. IN directions (m, d), offsets (m,; zeros); OUT out (n, m).
def products(rows: Rows, directions: Array, offsets: Array, out: Array, n_threads: int) -> None: ...

# Of dense rows. IN centers (s, d), offsets (s,), gaps (s, width: distances between centers, 0 beyond the last; width in
# whole panels), reach (twice the distance to a border that is crossed); OUT own (n,), visited (n, n_panels).
def cells_in_reach(
    rows: Rows,
    centers: Array,
    offsets: Array,
    gaps: Array,
    reach: float,
    own: Ints,
    visited: npt.NDArray[np.uint16],
    n_threads: int,
) -> None: ...

# Of dense rows. IN points (n_points, d), offsets (n_points,: squared lengths), order (n_points,: by cell), cell_starts
# (n_cells + 1,), visitors, visitor_starts (n_cells + 1,), row_order (n_listed,; no row twice, rows of one cell
# together), own (n,), starts (n + 1,), visits (ascending for each row), unit (as above; 0: by floats); OUT ids (n, m)
# of the rows listed.
def nearest_in_cells(
    rows: Rows,
    points: Array,
    offsets: Array,
    order: Ints,
    cell_starts: Longs,
    visitors: Ints,
    visitor_starts: Longs,
    row_order: Longs,
    own: Ints,
    starts: Longs,
    visits: Ints,
    unit: float,
    ids: Ints,
    n_threads: int,
) -> None: ...

# IN row_order (no row twice), candidates (n, m): -1 for none; OUT ids, squares, of those rows: fewer than are kept end
# with -1 and infinity.
def nearest_of_candidates(
    rows: Rows,
    points: Array,
    row_order: Longs,
    candidates: Ints,
    are_points: bool,
    ids: Ints,
    squares: Array,
    n_threads: int,
) -> None: ...

class BoxTreeOfFloats: ...
class BoxTreeOfDoubles: ...

# A k-d tree of points, which are copied.
def box_tree(points: Array, n_threads: int) -> BoxTreeOfFloats | BoxTreeOfDoubles: ...

# The lightest edges of mutual reachability below a limit of each row to points of other groups (asked of -2 - g: of
# group g). IN cores, groups (n,); rows (numbers of points), asked (their own groups), limits (q,); OUT ids, squares
# (q, m), ascending: -1 and the limit where there are too few.
def nearest_reachable(
    tree: BoxTreeOfFloats | BoxTreeOfDoubles,
    cores: Array,
    groups: Ints,
    rows: Ints,
    asked: Ints,
    limits: Array,
    ids: Ints,
    squares: Array,
    n_threads: int,
) -> None: ...

# Kruskal's algorithm over the edges that bounds certify. IN firsts, seconds, weights, ascending by weight; bounds (n,):
# least weight of unknown edges of each row; IN/OUT sets (n,), named by one of their rows; OUT joined (n - 1,):
# numbers of the edges. Returns how many.
def join_certified(
    firsts: Ints, seconds: Ints, weights: Doubles, bounds: Doubles, sets: Ints, joined: Longs
) -> int: ...

# IN firsts, seconds (n - 1,); OUT order, parents, edges (n,).
def root_tree(firsts: Ints, seconds: Ints, order: Ints, parents: Ints, edges: Ints) -> None: ...

# IN firsts, seconds, heights (n - 1,); OUT linkage (n - 1, 4).
def linkage_of_edges(firsts: Ints, seconds: Ints, heights: Doubles, linkage: Doubles) -> None: ...

# --- mixture

# IN/OUT candidates (n, m), neighbors (C, G); OUT energies (n, m). Returns the number of distances.
def truncated_search(
    rows: Rows,
    means: Array,
    scales: Array | None,
    precisions: Array,
    offsets: Array,
    candidates: Ints,
    energies: Array,
    neighbors: Ints,
    extra: Ints | None,
    group_size: int,
    update_neighbors: bool,
    regroup: bool,
    n_threads: int,
) -> int: ...

# OUT shares (n, m), log_densities (n,).
def truncated_posteriors(
    energies: Array, negligible: float, shares: Array, log_densities: Doubles, n_threads: int
) -> None: ...

# IN/OUT masses (C,), energy_sums (C,), first (C, d), second (C, d) or None.
def mixture_moments(
    rows: Rows,
    candidates: Ints,
    shares: Array,
    energies: Array,
    weights: Array | None,
    means: Array,
    masses: Doubles,
    energy_sums: Doubles,
    first: Doubles,
    second: Doubles | None,
    n_threads: int,
) -> None: ...

# As truncated_search; directions (C, h, width padded to whole cache lines), shrinkages (C, h).
def factor_search(
    rows: Rows,
    means: Array,
    scales: Array,
    directions: Array,
    shrinkages: Array,
    offsets: Array,
    candidates: Ints,
    energies: Array,
    neighbors: Ints,
    extra: Ints | None,
    group_size: int,
    update_neighbors: bool,
    regroup: bool,
    n_threads: int,
) -> int: ...

# IN ids (m,); OUT energies (n, m).
def factor_energies(
    rows: Rows,
    means: Array,
    scales: Array,
    directions: Array,
    shrinkages: Array,
    offsets: Array,
    ids: Ints,
    energies: Array,
    n_threads: int,
) -> None: ...

# IN/OUT ids (n, m), by ascending energy; OUT energies (n, m).
def factor_energies_of_listed(
    rows: Rows,
    means: Array,
    scales: Array,
    directions: Array,
    shrinkages: Array,
    offsets: Array,
    ids: Ints,
    energies: Array,
    n_threads: int,
) -> None: ...

# IN/OUT masses (C,), first and second (C, d), cross (C, h, d), projections (C, h), outer (C, h, h).
def factor_moments(
    rows: Rows,
    candidates: Ints,
    shares: Array,
    weights: Array | None,
    means: Array,
    scales: Array,
    directions: Array,
    masses: Doubles,
    first: Doubles,
    second: Doubles,
    cross: Doubles,
    projections: Doubles,
    outer: Doubles,
    n_threads: int,
) -> None: ...

# --- laplacian_kmodes

class WeightedGraphFloat32: ...
class WeightedGraphFloat64: ...

WeightedGraph = WeightedGraphFloat32 | WeightedGraphFloat64

def weighted_graph(starts: Longs, columns: Ints, weights: Array | None, diagonal: Array) -> WeightedGraph: ...

# Rows of affinities, before and after (n, width) are padded to whole cache lines, and aligned to them.
# IN before, moved_before (n,); IN/OUT rests, attractions, own_terms (n,); OUT after, moved_after (n,),
# sums (ceil(n / ROW_QUANTUM), 2). Returns how many rows moved.
def update_memberships(
    graph: WeightedGraph,
    affinities: Array,
    n_clusters: int,
    lambda_: float,
    smallest_change: float,
    before: Array,
    after: Array,
    moved_before: npt.NDArray[np.uint8],
    moved_after: npt.NDArray[np.uint8],
    rests: Array,
    attractions: Doubles,
    own_terms: Doubles,
    sums: Doubles,
    n_threads: int,
) -> int: ...

# --- convex

# Edges ascend by head; IN points (n, p), duals (n_edges, p).
class FusionEdgesFloat32:
    n_tasks: int

class FusionEdgesFloat64:
    n_tasks: int

FusionEdges = FusionEdgesFloat32 | FusionEdgesFloat64

def fusion_edges(
    heads: Ints,
    tails: Ints,
    weights: Array,
    steps: Array,
    head_starts: Longs,
    tail_starts: Longs,
    tail_edges: Ints,
    group_starts: Longs,
    is_maximum: bool,
) -> FusionEdges: ...

# IN/OUT former (n_edges, p): the duals before, then those after.
def dual_step(
    edges: FusionEdges,
    gamma: float,
    momentum: float,
    points: Array,
    duals: Array,
    former: Array,
    n_threads: int,
) -> None: ...

# IN rows, current; OUT next, ahead (n, p), squares (ceil(n / ROW_QUANTUM),).
def primal_points(
    edges: FusionEdges,
    momentum: float,
    rows: Array,
    duals: Array,
    current: Array,
    next: Array,
    ahead: Array,
    squares: Doubles,
    n_threads: int,
) -> None: ...

# Maximizes the dual over one edge after the other. IN current; IN/OUT former, ahead; OUT next, squares.
def dual_ascent(
    edges: FusionEdges,
    gamma: float,
    momentum: float,
    next_momentum: float,
    duals: Array,
    former: Array,
    current: Array,
    ahead: Array,
    next: Array,
    squares: Doubles,
    n_threads: int,
) -> None: ...

# The two in one. IN starts (n_windows + 1,), reaches, offsets (n_windows,); IN/OUT former, ahead; OUT next, squares;
# scratch sums (rows of all windows, p). A reach covers the tails of its window's edges: that is not checked.
def dual_sweep(
    edges: FusionEdges,
    starts: Longs,
    reaches: Longs,
    offsets: Longs,
    gamma: float,
    momentum: float,
    next_momentum: float,
    rows: Array,
    duals: Array,
    former: Array,
    current: Array,
    next: Array,
    ahead: Array,
    sums: Array,
    squares: Doubles,
    n_threads: int,
) -> None: ...

# OUT sums (n_tasks, n_groups + 1).
def fusion_penalty(
    edges: FusionEdges, gamma: float, points: Array, duals: Array | None, sums: Doubles, n_threads: int
) -> None: ...

# OUT lengths (n_groups, n_edges).
def split_lengths(
    edges: FusionEdges, gamma: float, points: Array, duals: Array, lengths: Array, n_threads: int
) -> None: ...

class WeightedTree: ...

# Parents come before their children; node 0 is the root. IN parents, sizes, weights (n,).
def weighted_tree(parents: Ints, sizes: Doubles, weights: Doubles) -> WeightedTree: ...

# IN columns (p, n); IN/OUT fused (p, n); OUT values, flows (p, n), sums (p, 2): objective and duality gap.
def denoise_on_tree(
    tree: WeightedTree,
    gamma: float,
    columns: Doubles,
    fused: npt.NDArray[np.uint8],
    values: Doubles,
    flows: Doubles | None,
    sums: Doubles,
    n_threads: int,
) -> None: ...
def last_gamma(tree: WeightedTree, columns: Doubles) -> float: ...

# --- total_variation

class BlockedGraphFloat32:
    n_edges: int

class BlockedGraphFloat64:
    n_edges: int

BlockedGraph = BlockedGraphFloat32 | BlockedGraphFloat64

# Edges of a row: inside of its block to later rows, then across blocks to later rows, then to earlier ones.
def blocked_graph_float32(
    starts: Longs, crossings: Longs, columns: Ints, weights: Array | None, block_rows: int
) -> BlockedGraphFloat32: ...
def blocked_graph_float64(
    starts: Longs, crossings: Longs, columns: Ints, weights: Array | None, block_rows: int
) -> BlockedGraphFloat64: ...

# IN/OUT duals (edges, R), memberships, extrapolated (n, width); scratch spare (n, width); IN anchors (n, width),
# fixed, row_steps (n,), outer (6, width): scales, dual steps, medians, above, below, at; OUT squares (blocks,).
# row_weights (n,): how much rows count in the balance, None: 1.
# steps_by_weight: duals step in proportion to the weights of their edges.
# Rows of width are padded to whole cache lines, and aligned to them. Returns the next tau.
def iterate_primal_dual(
    graph: BlockedGraph,
    duals: Array,
    memberships: Array,
    extrapolated: Array,
    spare: Array,
    anchors: Array,
    fixed: npt.NDArray[np.uint8],
    row_steps: Array,
    outer: Array,
    steps_by_weight: bool,
    tau: float,
    convexity: float,
    n_iterations: int,
    squares: Doubles,
    n_threads: int,
    row_weights: Array | None,
) -> float: ...

# Moves single vertices between clusters as long as (P) falls; returns how often. IN starts (n + 1,), columns, weights:
# every edge at both ends (None: 1 each), sizes (n,): what a vertex counts in that of its cluster (None: 1 each),
# fixed (n,), asymmetries (R,): lambda, bounds of the number of vertices of a cluster; IN/OUT clusters (n,).
def move_vertices(
    starts: Longs, columns: Ints, weights: Doubles | None, sizes: Doubles | None, fixed: npt.NDArray[np.uint8],
    asymmetries: Doubles, least: float, most: float, clusters: Ints,
) -> int: ...  # fmt: skip

# OUT medians (R,), sums (3, R): above, below, total variations; counts (2, R): above, below. Memberships in 0 .. 1.
# IN ranks (R,).
def column_statistics(
    graph: BlockedGraph,
    memberships: Array,
    ranks: Longs,
    medians: Array,
    sums: Doubles,
    counts: Longs,
    n_threads: int,
) -> None: ...

# --- multilevel

# starts (n + 1,), columns and weights (n_edges,): rows ascending, without the diagonal, which is loops (n,).
class NodeGraph: ...

def node_graph(
    starts: Longs, columns: Ints, weights: Doubles, loops: Doubles, volume: float
) -> NodeGraph: ...

# kind: 0 information, 1 modularity, 2 normalized cut. IN/OUT labels (n,), waits (n,), clusters (k, 2): weights inside
# and volumes, sizes (k,): nodes. Returns the number of moves.
def move_nodes(
    graph: NodeGraph,
    kind: int,
    resolution: float,
    may_empty: bool,
    labels: Ints,
    waits: npt.NDArray[np.uint8],
    clusters: Doubles,
    sizes: Longs,
) -> int: ...

# OUT labels (n,).
def improve_communities(
    graph: NodeGraph,
    masses: Doubles,
    rate: float,
    least_rise: float,
    seed: int,
    parts: bool,
    least: float,
    labels: Ints,
    n_threads: int,
) -> bool: ...
def merge_nodes(graph: NodeGraph, kind: int, resolution: float, n_clusters: int, labels: Ints) -> None: ...
