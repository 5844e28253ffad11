// Statistics of the columns of a membership matrix: order statistics, distances to them, total variation.
#pragma once

#include <algorithm>

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/total_variation/primal_dual.hpp"

namespace coterie {

template <class T>
struct ColumnStatistics {
    T* medians;             // OUT n_columns: the values of the given rank
    double* sums_above;     // OUT n_columns: sum of value - median, where that is positive
    double* sums_below;     // OUT n_columns: sum of median - value, where that is positive
    Index* n_above;         // OUT n_columns
    Index* n_below;         // OUT n_columns
    double* variations;     // OUT n_columns: sum over the edges of weight * |difference|, each edge once
};

namespace {

// Sums over a column in a fixed order: kLanes partial sums.
template <class T>
void distances_to_median(const T* values, Index n, T median, Index r, const ColumnStatistics<T>& out) {
    constexpr Index H = 16;
    double above[H] = {}, below[H] = {};
    Index n_above = 0, n_below = 0;
    for (Index i = 0; i < n; i += H)
        for (Index l = 0; l < min_index(H, n - i); ++l) {
            const double distance = static_cast<double>(values[i + l]) - static_cast<double>(median);
            above[l] += distance > 0 ? distance : 0;
            below[l] += distance < 0 ? -distance : 0;
            n_above += distance > 0;
            n_below += distance < 0;
        }
    out.medians[r] = median;
    out.sums_above[r] = out.sums_below[r] = 0;
    for (Index l = 0; l < H; ++l) {
        out.sums_above[r] += above[l];
        out.sums_below[r] += below[l];
    }
    out.n_above[r] = n_above;
    out.n_below[r] = n_below;
}

// Sums over some rows, per column.
template <class T>
struct RowSums {
    double* variations;  // width
    double* values;      // width
    Index* zeros;        // width
    Index* ones;         // width
};

// Adds the total variation along the edges of row i, each undirected edge once.
template <class Isa, class T>
inline void variation_of_row(const BlockedGraph<T>& graph, const T* memberships, Index width, Index i, T* sums) {
    using V = typename Isa::template Vector<T>;
    constexpr int NV = 64 / sizeof(V);
    constexpr Index kAhead = 16;
    const Index last_edge = graph.starts[graph.n_rows] - 1;
    for (Index panel = 0; panel < width; panel += kLanes<T>) {
        const V* const own = reinterpret_cast<const V*>(memberships + i * width + panel);
        V total[NV] = {};
        for (Index e = graph.starts[i]; e < graph.starts[i + 1]; ++e) {
            const Index j = graph.columns[e];
            if (j < i) break;  // later ones come first
            __builtin_prefetch(memberships + graph.columns[min_index(e + kAhead, last_edge)] * width + panel);
            const V* const other = reinterpret_cast<const V*>(memberships + j * width + panel);
            const T weight = graph.weights == nullptr ? T(1) : graph.weights[e];
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) {
                const V difference = own[v] - other[v];
                total[v] += Isa::greatest(difference, -difference) * weight;
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) reinterpret_cast<V*>(sums + panel)[v] += total[v];
    }
}

// Sums over the rows of a block: those of kLanes rows in the type of the memberships, then in double.
template <class Isa, class T>
void sum_block(const BlockedGraph<T>& graph, const T* memberships, Index width, Index b, T* lines,
               const RowSums<T>& out) {
    using V = typename Isa::template Vector<T>;
    constexpr Index L = sizeof(V) / sizeof(T), H = 16;
    const Index n_vectors = width / L;
    T *variations = lines, *values = lines + width, *zeros = lines + 2 * width, *ones = lines + 3 * width;
    for (Index r = 0; r < width; ++r) {
        out.variations[r] = out.values[r] = 0;
        out.zeros[r] = out.ones[r] = 0;
    }
    for (Index begin = b * graph.block_rows; begin < graph.block_end(b); begin += H) {
        for (Index r = 0; r < 4 * width; ++r) lines[r] = 0;
        for (Index i = begin; i < min_index(begin + H, graph.block_end(b)); ++i) {
            variation_of_row<Isa>(graph, memberships, width, i, variations);
            const V* const own = reinterpret_cast<const V*>(memberships + i * width);
            for (Index v = 0; v < n_vectors; ++v) {
                const V zero = V{}, one = zero + 1;
                reinterpret_cast<V*>(values)[v] += own[v];
                reinterpret_cast<V*>(zeros)[v] += own[v] == zero ? one : zero;
                reinterpret_cast<V*>(ones)[v] += own[v] == one ? one : zero;
            }
        }
        for (Index r = 0; r < width; ++r) {
            out.variations[r] += static_cast<double>(variations[r]);
            out.values[r] += static_cast<double>(values[r]);
            out.zeros[r] += static_cast<Index>(zeros[r]);
            out.ones[r] += static_cast<Index>(ones[r]);
        }
    }
}

// Whether the median is 0 or 1, as of most memberships; then the distances follow from the sums.
template <class T>
bool median_at_an_end(Index n, Index rank, Index r, const RowSums<T>& sums, const ColumnStatistics<T>& out) {
    const bool is_one = rank < sums.ones[r], is_zero = rank >= n - sums.zeros[r];
    out.medians[r] = is_one ? 1 : 0;
    out.sums_above[r] = is_one ? 0 : sums.values[r];
    out.sums_below[r] = is_one ? static_cast<double>(n) - sums.values[r] : 0;
    out.n_above[r] = is_one ? 0 : n - sums.zeros[r];
    out.n_below[r] = is_one ? n - sums.ones[r] : 0;
    return is_one || is_zero;
}

// Statistics of all columns of memberships, which are in 0 .. 1; the median of a column is the value of its rank (0:
// the largest).
template <class Isa, class T>
void column_statistics(const BlockedGraph<T>& graph, const T* memberships, Index n_columns, Index width, const Index* ranks,
                       const ColumnStatistics<T>& out, int n_threads) {
    const Index n = graph.n_rows, n_blocks = graph.n_blocks();
    Buffer<double> partial((n_blocks + 1) * 2 * width);
    Buffer<Index> counts((n_blocks + 1) * 2 * width);
    const auto sums_of = [&](Index b) -> RowSums<T> {
        double* const p = partial.data() + b * 2 * width;
        Index* const c = counts.data() + b * 2 * width;
        return {p, p + width, c, c + width};
    };
    const auto make_lines = [&] { return Buffer<T>(4 * width); };
    parallel_for(n_blocks, n_threads, make_lines, [&](Index b, Buffer<T>& lines) {
        sum_block<Isa>(graph, memberships, width, b, lines.data(), sums_of(b));
    });
    const auto make_values = [&] { return Buffer<T>(2 * n); };
    const RowSums<T> total = sums_of(n_blocks);
    parallel_for(n_columns, n_threads, make_values, [&](Index r, Buffer<T>& values) {
        total.variations[r] = total.values[r] = 0;
        total.zeros[r] = total.ones[r] = 0;
        for (Index b = 0; b < n_blocks; ++b) {
            const RowSums<T> part = sums_of(b);
            total.variations[r] += part.variations[r];
            total.values[r] += part.values[r];
            total.zeros[r] += part.zeros[r];
            total.ones[r] += part.ones[r];
        }
        out.variations[r] = total.variations[r];
        if (median_at_an_end(n, ranks[r], r, total, out)) return;
        T* const parted = values.data() + n;
        for (Index i = 0; i < n; ++i) values[i] = parted[i] = memberships[i * width + r];
        std::nth_element(parted, parted + ranks[r], parted + n, [](T a, T b) { return a > b; });
        distances_to_median(values.data(), n, parted[ranks[r]] + 0, r, out);  // -0 becomes 0
    });
}

}  // namespace
}  // namespace coterie
