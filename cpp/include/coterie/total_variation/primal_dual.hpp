// Multiclass total variation clustering (Bresson, Laurent, Uminsky and von Brecht 2013): the inner iteration of their
// Algorithm 1, a primal-dual step of Chambolle and Pock, with the diagonal preconditioning of Pock and Chambolle (2011):
// the step of a row is in inverse proportion to its degree, that of a dual to its weight and to Gamma. Weights drop out of
// the dual step then. The steps of the paper itself are the same for all rows and all duals of a column; weights do not
// drop out of those.
//
// Vertices are divided into blocks of consecutive rows. The duals of an edge within a block are stored once: the block
// is processed in the order of the rows, so both ends see them. Those of an edge between two blocks are stored twice,
// once for each end, and remain exact negatives of each other. So blocks depend on each other only through the
// extrapolated memberships of the iteration before, and duals are read and written once, in the order in which they lie
// in memory.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/isa.hpp"
#include "coterie/machine/numbers.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {

// An undirected graph. The edges of a row begin with those to later rows of its block; then come those to rows of other
// blocks, later ones first.
template <class T>
struct BlockedGraph {
    const Index* starts;          // n_rows + 1
    const Index* crossings;       // n_rows: where the edges to other blocks begin
    const std::int32_t* columns;
    const T* weights;             // or nullptr: 1
    Index n_rows;
    Index block_rows;

    Index n_blocks() const { return (n_rows + block_rows - 1) / block_rows; }
    Index block_end(Index b) const { return (b + 1) * block_rows < n_rows ? (b + 1) * block_rows : n_rows; }
};

// Memberships lie row by row, each row padded to whole cache lines of zeros; arrays over columns are padded in the same
// way.
template <class T>
struct PrimalDualState {
    Index n_columns, width;       // R; the same rounded up to whole cache lines
    T* duals;                     // IN/OUT n_edges x n_columns: P, not padded
    T* memberships;               // IN/OUT n_rows x width: F
    T* extrapolated;              // IN/OUT n_rows x width: F_bar
    T* spare;                     // n_rows x width: scratch
    const T* anchors;             // n_rows x width: F of the outer step
    const std::uint8_t* fixed;    // n_rows: whether the row keeps its memberships
    const T* row_steps;           // n_rows: step of the row as a multiple of tau
    const T* row_weights;         // n_rows: weight of the row in the balance, null: 1
};

// G - F of the outer step, for memberships above, below and at the median of their column.
template <class T>
struct OuterStep {
    const T* scales;              // width: Gamma
    const T* dual_steps;          // step of the duals times tau; 0 in the padding
    const T* medians;
    const T* above;
    const T* below;
    const T* at;                  // minus infinity in the padding
    bool steps_by_weight;         // whether dual steps are proportional to weights; else equal within a column
};

namespace {

template <class T>
struct EdgeDualStep {
    const T* extrapolated;
    const T* steps;  // width
    T* duals;
    Index n_columns, width, last_edge;
    bool by_weight;  // whether steps are multiplied by the weight of the edge, which else cancels in them
};

constexpr int floor_power_of_two(int n) { return n < 2 ? 1 : 2 * floor_power_of_two(n / 2); }

template <class Isa, class V>
inline __attribute__((always_inline)) V clipped(V x) {
    const V one = V{} + 1;
    return Isa::greatest(Isa::least(x, one), -one);
}

// Updates the duals of the edges of a row, N columns at a time, in registers that hold exactly N numbers:
// duals are not padded, and a wider load, masked or not, would overlap the store before it and wait until that has
// reached the cache.
template <class Isa, class T, int N>
struct RowLanes {
    static constexpr int kLargest = Isa::kRegisterBytes / static_cast<int>(sizeof(T));
    static constexpr int kHead = floor_power_of_two(N < kLargest ? N : kLargest);
    using Head = typename VectorOf<T, kHead * static_cast<int>(sizeof(T))>::Unaligned;
    Head own, scale, total;
    RowLanes<Isa, T, N - kHead> tail;

    inline __attribute__((always_inline)) void begin(const T* extrapolated, const T* steps, const T* sums) {
        own = *reinterpret_cast<const Head*>(extrapolated);
        scale = *reinterpret_cast<const Head*>(steps);
        total = *reinterpret_cast<const Head*>(sums);
        tail.begin(extrapolated + kHead, steps + kHead, sums + kHead);
    }
    // The duals of an edge to a row with memberships `other`; adds its part of K'P here and, if Both, there.
    template <bool Both>
    inline __attribute__((always_inline)) void update(T* duals, const T* other, T step, T weight, T* theirs) {
        Head dual = *reinterpret_cast<const Head*>(duals);
        const Head difference = own - *reinterpret_cast<const Head*>(other);
        dual = clipped<Isa>(dual + difference * step * scale);
        *reinterpret_cast<Head*>(duals) = dual;
        // Added to zeros: GCC does not fuse a pair of equal numbers.
        const Head factor = Head{} + weight;
        total = multiply_add<Head>(dual, factor, total);
        if constexpr (Both) {
            Head& sum = *reinterpret_cast<Head*>(theirs);
            sum = multiply_add<Head>(-dual, factor, sum);
        }
        tail.template update<Both>(duals + kHead, other + kHead, step, weight, Both ? theirs + kHead : theirs);
    }
    inline __attribute__((always_inline)) void end(T* sums) const {
        *reinterpret_cast<Head*>(sums) = total;
        tail.end(sums + kHead);
    }
};

template <class Isa, class T>
struct RowLanes<Isa, T, 0> {
    void begin(const T*, const T*, const T*) {}
    template <bool Both>
    void update(T*, const T*, T, T, T*) {}
    void end(T*) const {}
};

// The duals of the edges of row i, N columns from `panel` on; adds K'P of row i, and of the later rows of its block.
template <class Isa, int N, class T>
inline __attribute__((always_inline)) void dual_step_of_row(const BlockedGraph<T>& graph, const EdgeDualStep<T>& step,
                                                            Index i, Index panel, T* divergences) {
    constexpr Index kAhead = 16, kDualsAhead = 96;
    const Index width = step.width, n_columns = step.n_columns, middle = graph.crossings[i], end = graph.starts[i + 1];
    const T* const extrapolated = step.extrapolated + panel;
    T* duals = step.duals + panel + graph.starts[i] * n_columns;
    RowLanes<Isa, T, N> row;
    const auto prefetch_duals = [](const T* ahead) {
        __builtin_prefetch(ahead, 1);
        if constexpr (N > kLanes<T>) __builtin_prefetch(ahead + kLanes<T>, 1);
    };
    // Without weights the same 1 is read for every edge: another form of the function would have the same bits.
    const T one = 1;
    const T* const weights = graph.weights == nullptr ? &one : graph.weights;
    const T* const multiples = step.by_weight ? weights : &one;
    const Index stride = graph.weights == nullptr ? 0 : 1, multiple_stride = step.by_weight ? stride : 0;
    row.begin(extrapolated + i * width, step.steps + panel, divergences + i * width);
    for (Index e = graph.starts[i]; e < middle; ++e, duals += n_columns) {
        const Index j = graph.columns[e] * width;
        prefetch_duals(duals + kDualsAhead * n_columns);
        row.template update<true>(duals, extrapolated + j, multiples[e * multiple_stride], weights[e * stride],
                                  divergences + j);
    }
    for (Index e = middle; e < end; ++e, duals += n_columns) {
        // Rows of other blocks are rarely in the L1 cache.
        __builtin_prefetch(extrapolated + graph.columns[min_index(e + kAhead, step.last_edge)] * width);
        prefetch_duals(duals + kDualsAhead * n_columns);
        row.template update<false>(duals, extrapolated + graph.columns[e] * width, multiples[e * multiple_stride],
                                   weights[e * stride], nullptr);
    }
    row.end(divergences + i * width);
}

// The first of the columns that are processed last, together: those of the last panel and of the previous one, if there
// is one. Rows of memberships are then read once for both, and the other costs of an edge occur once.
template <class T>
Index first_of_last_columns(Index n_columns) {
    return max_index(0, ceil_div(n_columns, kLanes<T>) - 2) * kLanes<T>;
}

// Compiled once, not into the function of each number of columns.
template <class Isa, class T>
__attribute__((noinline)) void dual_step_of_panel(const BlockedGraph<T>& graph, const EdgeDualStep<T>& step, Index i,
                                                  Index panel, T* divergences) {
    dual_step_of_row<Isa, static_cast<int>(kLanes<T>)>(graph, step, i, panel, divergences);
}

// divergences: of the block's rows. N: number of columns that are processed last; all of them if they fit into one
// panel.
template <class Isa, int N, class T>
void dual_step_of_block(const BlockedGraph<T>& graph, const EdgeDualStep<T>& step, Index first, Index last, T* divergences) {
    for (Index l = 0; l < (last - first) * step.width; ++l) divergences[l] = 0;
    // As if it were of all rows.
    T* const sums = divergences - first * step.width;
    const Index last_columns = N > kLanes<T> ? first_of_last_columns<T>(step.n_columns) : 0;
    for (Index i = first; i < last; ++i) {
        for (Index panel = 0; panel < last_columns; panel += kLanes<T>)
            dual_step_of_panel<Isa>(graph, step, i, panel, sums + panel);
        dual_step_of_row<Isa, N>(graph, step, i, last_columns, sums + last_columns);
    }
}

template <class T>
using EdgeDualStepOfBlock = void (*)(const BlockedGraph<T>&, const EdgeDualStep<T>&, Index, Index, T*);

// The function for the number of columns that are processed last.
template <class Isa, class T, int N = 2 * static_cast<int>(kLanes<T>)>
EdgeDualStepOfBlock<T> dual_step_for(Index n_columns) {
    if constexpr (N > 1) {
        if (n_columns - first_of_last_columns<T>(n_columns) != N) return dual_step_for<Isa, T, N - 1>(n_columns);
    }
    return dual_step_of_block<Isa, N, T>;
}

// Thresholds of the projection of kLanes rows on the simplex (Michelot 1986), together: the excesses over the threshold
// sum to 1. IN/OUT rows, transposed: afterwards less their largest entry, so that a row that ends with a single 1 has
// exactly that. At most n_columns + 1 rounds.
template <class Isa, class T>
void simplex_thresholds(T* transposed, Index n_columns, T* largest, T* thresholds) {
    using V = typename Isa::template Vector<T>;
    constexpr int NV = 64 / sizeof(V);
    V* const values = reinterpret_cast<V*>(transposed);
    V highest[NV], threshold[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) highest[v] = values[v];
    for (Index r = 1; r < n_columns; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) highest[v] = values[r * NV + v] > highest[v] ? values[r * NV + v] : highest[v];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) threshold[v] = V{} - 1;
    for (Index r = 0; r < n_columns; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) values[r * NV + v] -= highest[v];
    for (Index round = 0; round <= n_columns; ++round) {
        V sum[NV] = {}, count[NV] = {};
        for (Index r = 0; r < n_columns; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) {
                const V value = values[r * NV + v], zero = V{};
                sum[v] += value > threshold[v] ? value : zero;
                count[v] += value > threshold[v] ? zero + 1 : zero;
            }
        V rises = {};
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            const V next = (sum[v] - 1) / count[v];
            rises += next > threshold[v] ? next - threshold[v] : V{};
            threshold[v] = next > threshold[v] ? next : threshold[v];
        }
        T rise = 0;
        for (Index l = 0; l < static_cast<Index>(sizeof(V) / sizeof(T)); ++l) rise += rises[l];
        if (rise == 0) break;
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
        reinterpret_cast<V*>(largest)[v] = highest[v];
        reinterpret_cast<V*>(thresholds)[v] = threshold[v];
    }
}

template <class Isa, class T>
struct PrimalDualScratch {
    Buffer<T> divergences;  // block_rows x width: K'P
    Buffer<T> rows;         // kLanes x width: before the projection
    Buffer<T> transposed;   // n_columns x kLanes
    Buffer<T> thresholds;   // 2 x kLanes: largest of each row, and the threshold of the projection for the others
};

template <class T>
struct PrimalStep {
    T tau, theta;
    T* next;  // OUT: F_bar of the next iteration
};

// The new memberships of up to kLanes rows from `begin` on; returns their squared distance to the anchors.
template <class Isa, class T>
double primal_step_of_rows(const PrimalDualState<T>& state, const OuterStep<T>& outer, const PrimalStep<T>& step,
                           Index begin, Index n, const T* divergences, PrimalDualScratch<Isa, T>& scratch) {
    using V = typename Isa::template Vector<T>;
    constexpr int L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V);
    constexpr Index H = kLanes<T>;
    const Index width = state.width, n_vectors = width / L;
    T* const transposed = scratch.transposed.data();
    const auto vectors = [](const T* from) { return reinterpret_cast<const V*>(from); };
    for (Index l = 0; l < n; ++l) {
        const Index row = (begin + l) * width;
        const T tau = step.tau * state.row_steps[begin + l], shrink = 1 / (1 + tau);
        const T weight = state.row_weights == nullptr ? T(1) : state.row_weights[begin + l];
        const V *memberships = vectors(state.memberships + row), *anchors = vectors(state.anchors + row),
                *pulls = vectors(divergences + l * width);
        T* const out = scratch.rows.data() + l * width;
        for (Index v = 0; v < n_vectors; ++v) {
            const V median = vectors(outer.medians)[v];
            V shift = anchors[v] > median ? vectors(outer.above)[v] : vectors(outer.at)[v];
            shift = anchors[v] < median ? vectors(outer.below)[v] : shift;
            const V goal = anchors[v] + shift * weight - pulls[v] * vectors(outer.scales)[v];
            reinterpret_cast<V*>(out)[v] = (memberships[v] + goal * tau) * shrink;
        }
        for (Index r = 0; r < state.n_columns; ++r) transposed[r * H + l] = out[r];
    }
    for (Index l = n; l < H; ++l)
        for (Index r = 0; r < state.n_columns; ++r) transposed[r * H + l] = 0;
    T *largest = scratch.thresholds.data(), *thresholds = largest + H;
    simplex_thresholds<Isa>(transposed, state.n_columns, largest, thresholds);
    // A cache line of sums, for the same bits with registers of any width.
    V squares[NV] = {};
    for (Index l = 0; l < n; ++l) {
        const Index row = (begin + l) * width;
        V* const memberships = reinterpret_cast<V*>(state.memberships + row);
        V* const next = reinterpret_cast<V*>(step.next + row);
        if (state.fixed[begin + l]) {
            for (Index v = 0; v < n_vectors; ++v) next[v] = memberships[v];
            continue;
        }
        const V *values = vectors(scratch.rows.data() + l * width), *anchors = vectors(state.anchors + row);
        for (Index v = 0; v < n_vectors; v += NV)
#pragma GCC unroll 4
            for (int u = 0; u < NV; ++u) {
                const V left = (values[v + u] - largest[l]) - thresholds[l];
                const V projected = Isa::greatest(left, V{}), distance = projected - anchors[v + u];
                next[v + u] = projected + (projected - memberships[v + u]) * step.theta;
                memberships[v + u] = projected;
                squares[u] += distance * distance;
            }
    }
    double square = 0;
    for (int u = 0; u < NV; ++u)
        for (int k = 0; k < L; ++k) square += static_cast<double>(squares[u][k]);
    return square;
}

// Runs n_iterations inner iterations from the step size tau on; returns that of the next. `convexity`: how strongly convex
// the quadratic term is in the norm of the preconditioner, or less; tau falls the faster for it. At the end `extrapolated`
// holds F_bar again. OUT squares (n_blocks): squared distance of the memberships to the anchors.
template <class Isa, class T>
double iterate_primal_dual(const BlockedGraph<T>& graph, const PrimalDualState<T>& state, const OuterStep<T>& outer,
                           double tau, double convexity, Index n_iterations, double* squares, int n_threads) {
    const Index width = state.width;
    const auto make_scratch = [&] {
        return PrimalDualScratch<Isa, T>{Buffer<T>(graph.block_rows * width), Buffer<T>(kLanes<T> * width),
                                         Buffer<T>(state.n_columns * kLanes<T>), Buffer<T>(2 * kLanes<T>)};
    };
    const EdgeDualStepOfBlock<T> dual_step = dual_step_for<Isa, T>(state.n_columns);
    Buffer<T> steps(width);
    T *current = state.extrapolated, *next = state.spare;
    for (Index k = 0; k < n_iterations; ++k) {
        const double theta = 1 / __builtin_sqrt(1 + 2 * convexity * tau);
        for (Index r = 0; r < width; ++r) steps[r] = outer.dual_steps[r] / static_cast<T>(tau);
        const EdgeDualStep<T> dual{current, steps.data(), state.duals, state.n_columns, width,
                                   graph.starts[graph.n_rows] - 1, outer.steps_by_weight};
        const PrimalStep<T> primal{static_cast<T>(tau), static_cast<T>(theta), next};
        parallel_for(graph.n_blocks(), n_threads, make_scratch, [&](Index b, PrimalDualScratch<Isa, T>& scratch) {
            const Index first = b * graph.block_rows, last = graph.block_end(b);
            T* const divergences = scratch.divergences.data();
            dual_step(graph, dual, first, last, divergences);
            double square = 0;
            for (Index i = first; i < last; i += kLanes<T>)
                square += primal_step_of_rows<Isa>(state, outer, primal, i, min_index(kLanes<T>, last - i),
                                                   divergences + (i - first) * width, scratch);
            squares[b] = square;
        });
        tau *= theta;
        T* const former = current;
        current = next;
        next = former;
    }
    if (current != state.extrapolated)
        parallel_for(graph.n_blocks(), n_threads, [&](Index b) {
            const Index first = b * graph.block_rows * width, last = graph.block_end(b) * width;
            for (Index l = first; l < last; ++l) state.extrapolated[l] = current[l];
        });
    return tau;
}

}  // namespace
}  // namespace coterie
