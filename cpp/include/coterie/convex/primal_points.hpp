// The points that belong to the duals: sums over the edges of each node.
#pragma once

#include "coterie/convex/edges.hpp"
#include "coterie/convex/short_rows.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {

template <class T>
struct PrimalPoints {
    const T* rows;      // n_nodes x n_columns: X
    const T* current;   // n_nodes x n_columns: U before
    T* next;            // OUT n_nodes x n_columns: U = X + Delta
    T* ahead;           // OUT n_nodes x n_columns: next + momentum (next - current)
    T momentum;
};

namespace {

// Two sums at a time, so that additions do not wait for each other.
template <class T, Index P>
void short_primal_row(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index i) {
    using Row = ShortRow<T, P>;
    typename Row::Vector out[2] = {}, in[2] = {};
    Index e = edges.head_starts[i];
    for (; e + 1 < edges.head_starts[i + 1]; e += 2)
        for (Index s = 0; s < 2; ++s) out[s] += Row::load(duals, e + s);
    if (e < edges.head_starts[i + 1]) out[0] += Row::load(duals, e);
    Index k = edges.tail_starts[i];
    for (; k + 1 < edges.tail_starts[i + 1]; k += 2)
        for (Index s = 0; s < 2; ++s) in[s] += Row::load(duals, edges.tail_edges[k + s]);
    if (k < edges.tail_starts[i + 1]) in[0] += Row::load(duals, edges.tail_edges[k]);
    const auto value = Row::load(points.rows, i) + ((out[0] + out[1]) - (in[0] + in[1]));
    Row::store(points.ahead, i, value + (value - Row::load(points.current, i)) * points.momentum);
    Row::store(points.next, i, value);
}

template <class T>
void long_primal_row(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index i, Index p) {
    const T* const row = points.rows + i * p;
    T* const next = points.next + i * p;
    T* const ahead = points.ahead + i * p;
    for (Index j = 0; j < p; ++j) next[j] = row[j];
    for (Index e = edges.head_starts[i]; e < edges.head_starts[i + 1]; ++e)
        for (Index j = 0; j < p; ++j) next[j] += duals[e * p + j];
    for (Index k = edges.tail_starts[i]; k < edges.tail_starts[i + 1]; ++k) {
        const T* const dual = duals + edges.tail_edges[k] * p;
        for (Index j = 0; j < p; ++j) next[j] -= dual[j];
    }
    const T* const current = points.current + i * p;
    for (Index j = 0; j < p; ++j) ahead[j] = next[j] + points.momentum * (next[j] - current[j]);
}

template <class T>
inline void primal_row_of(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index i, Index p) {
    switch (p) {
        case 1: return short_primal_row<T, 1>(edges, points, duals, i);
        case 2: return short_primal_row<T, 2>(edges, points, duals, i);
        case 4: return short_primal_row<T, 4>(edges, points, duals, i);
        default: return long_primal_row(edges, points, duals, i, p);
    }
}

// Sum of the squares of n values, in lanes: one after the other each addition would wait for the one before.
template <class T>
inline double energy_of(const T* values, Index n) {
    constexpr Index kSums = 16;
    double sums[kSums] = {};
    Index k = 0;
    for (; k + kSums <= n; k += kSums)
        for (Index l = 0; l < kSums; ++l) {
            const double value = static_cast<double>(values[k + l]);
            sums[l] = multiply_add_in_order(value, value, sums[l]);
        }
    for (Index l = 0; k < n; ++k, ++l) {
        const double value = static_cast<double>(values[k]);
        sums[l] = multiply_add_in_order(value, value, sums[l]);
    }
    for (Index half = kSums / 2; half > 0; half /= 2)
        for (Index l = 0; l < half; ++l) sums[l] += sums[l + half];
    return sums[0];
}

// U = X + Delta, and U ahead of it by the momentum. IN duals (n_edges x n_columns); OUT squares (one for each run of
// kQuantum nodes): of the entries of U.
template <class Isa, class T>
void primal_points(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index n_columns,
                   double* squares, int n_threads) {
    constexpr Index kAhead = 4;
    parallel_for(ceil_div(edges.n_nodes, kQuantum), n_threads, [&](Index q) {
        const Index begin = q * kQuantum, end = min_index(edges.n_nodes, begin + kQuantum);
        for (Index i = begin; i < end; ++i) {
            if (n_columns > 4 && i + kAhead < edges.n_nodes)
                for (Index k = edges.tail_starts[i + kAhead]; k < edges.tail_starts[i + kAhead + 1]; ++k)
                    __builtin_prefetch(duals + edges.tail_edges[k] * n_columns);
            primal_row_of(edges, points, duals, i, n_columns);
        }
        squares[q] = energy_of(points.next + begin * n_columns, (end - begin) * n_columns);
    });
}

}  // namespace
}  // namespace coterie
