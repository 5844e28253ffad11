// Sums of the rows of each cluster, in double, each in the order of the rows.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {
namespace {

// The rows of each cluster, in ascending order, with the sign of their contribution.
struct Moves {
    Buffer<Index> starts;  // n_clusters + 1
    Buffer<Index> rows;    // row * 2 + 1 if it leaves, row * 2 if it joins
};

// The change of a cluster's mass by a move.
template <class T>
inline double weight_of(Index move, const T* weights) {
    const double sign = move % 2 ? -1.0 : 1.0;
    return weights == nullptr ? sign : sign * static_cast<double>(weights[move / 2]);
}

// Rows whose label is not the same as before; before == nullptr: all rows join.
inline Moves moves_by_cluster(const std::int32_t* labels, const std::int32_t* before, Index n_rows,
                              Index n_clusters) {
    Moves moves{Buffer<Index>(n_clusters + 2), Buffer<Index>(0)};
    moves.starts.fill(0);
    Index* next = moves.starts.data() + 2;
    for (Index i = 0; i < n_rows; ++i) {
        if (before != nullptr && before[i] == labels[i]) continue;
        ++next[labels[i]];
        if (before != nullptr && before[i] >= 0) ++next[before[i]];
    }
    for (Index c = 1; c < n_clusters; ++c) next[c] += next[c - 1];
    moves.rows = Buffer<Index>(n_clusters > 0 ? next[n_clusters - 1] : 0);
    --next;
    for (Index i = 0; i < n_rows; ++i) {
        if (before != nullptr && before[i] == labels[i]) continue;
        if (before != nullptr && before[i] >= 0) moves.rows[next[before[i]]++] = i * 2 + 1;
        moves.rows[next[labels[i]]++] = i * 2;
    }
    return moves;
}

template <class T>
void add_rows(const DenseRows<T>& x, const Index* moves, Index n_moves, const T* weights, const double* shift,
              Index first_column, Index n_columns, double* sum) {
    for (Index e = 0; e < n_moves; ++e) {
        const T* row = x.row(moves[e] / 2) + first_column;
        const double w = weight_of(moves[e], weights);
        for (Index j = 0; j < n_columns; ++j) sum[j] += w * (static_cast<double>(row[j]) - shift[j]);
    }
}

// Clusters x column slices: enough tasks for any number of threads, each sum still in the order of the rows.
template <class T>
void add_clusters(const DenseRows<T>& x, const Moves& moves, const T* weights, const double* shift,
                  Index n_clusters, double* sums, int n_threads) {
    constexpr Index kSlice = 128;
    const Index n_slices = ceil_div(x.n_columns, kSlice);
    parallel_for(n_clusters, n_threads, [&](Index c) {
        const Index begin = moves.starts[c], n = moves.starts[c + 1] - begin;
        for (Index s = 0; s < (n > 0 ? n_slices : 0); ++s) {
            const Index first = s * kSlice;
            add_rows(x, moves.rows.data() + begin, n, weights, shift + first, first,
                     min_index(kSlice, x.n_columns - first), sums + c * x.n_columns + first);
        }
    });
}

template <class T>
void add_clusters(const CsrRows<T>& x, const Moves& moves, const T* weights, const double*, Index n_clusters,
                  double* sums, int n_threads) {
    parallel_for(n_clusters, n_threads, [&](Index c) {
        double* sum = sums + c * x.n_columns;
        for (Index e = moves.starts[c]; e < moves.starts[c + 1]; ++e) {
            const Index i = moves.rows[e] / 2;
            const double w = weight_of(moves.rows[e], weights);
            for (Index k = x.begin(i), end = x.end(i); k < end; ++k)
                sum[x.columns[k]] += w * static_cast<double>(x.values[k]);
        }
    });
}

// Moves the rows whose label differs from before (all rows where before is nullptr; before[i] = -1: was nowhere)
// from their old cluster's sum to their new one's.
// IN x, labels, before, weights (or nullptr: 1), shift (subtracted from dense rows; must be 0 for sparse ones);
// IN/OUT sums (n_clusters x n_columns), masses (n_clusters).
template <class Isa, class Rows>
void add_to_clusters(const Rows& x, const std::int32_t* labels, const std::int32_t* before,
                     const typename Rows::value_type* weights, const double* shift, Index n_clusters, double* sums,
                     double* masses, int n_threads) {
    const Moves moves = moves_by_cluster(labels, before, x.n_rows, n_clusters);
    for (Index c = 0; c < n_clusters; ++c)
        for (Index e = moves.starts[c]; e < moves.starts[c + 1]; ++e) masses[c] += weight_of(moves.rows[e], weights);
    add_clusters(x, moves, weights, shift, n_clusters, sums, n_threads);
}

}  // namespace
}  // namespace coterie
