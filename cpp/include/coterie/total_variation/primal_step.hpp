// The step of the memberships, a few rows at a time.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/total_variation/simplex.hpp"

namespace coterie {

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

}  // namespace
}  // namespace coterie
