// The step of the duals along the edges of one block.
//
// Vertices are divided into blocks of consecutive rows. The duals of an edge within a block are stored once: the block
// is processed in the order of the rows, so both ends see them. Those of an edge between two blocks are stored twice,
// once for each end, and remain exact negatives of each other. So blocks depend on each other only through the
// extrapolated memberships of the iteration before, and duals are read and written once, in the order in which they lie
// in memory.
#pragma once

#include "coterie/machine/isa.hpp"
#include "coterie/total_variation/blocked_graph.hpp"

namespace coterie {
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

}  // namespace
}  // namespace coterie
