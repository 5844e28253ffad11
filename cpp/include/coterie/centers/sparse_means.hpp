// Centroids that are means of sparse rows, kept as sums: a step costs in proportion to the entries of its rows, not to
// the number of columns.
//
// A row that joins a cluster scales the whole centroid, but changes its sum in the row's own columns only. So the
// panels hold the sums, and the scale, one number per centroid, is applied to the finished dot product (the idea of
// Pegasos' scaled weight vector, Shalev-Shwartz et al. 2007, for k-means).
#pragma once

#include "coterie/centers/panels.hpp"
#include "coterie/centers/sums.hpp"

namespace coterie {

// IN. Sums in slabs of panels (see Panels): n_slabs x n_columns x n_beside x kLanes, aligned to 64 bytes.
template <class T>
struct SumPanels {
    const T* values;
    const T* scales;   // n_panels x kLanes: score = offset + scale * (x . sum)
    const T* offsets;  // n_panels x kLanes; infinite where there is no centroid
    Index n_panels;
    Index n_beside;
};

// IN. Changes of labels of the rows of some blocks, numbered consecutively: rows whose label differs from before move
// (all join if before is nullptr; before[i] = -1: had no label).
template <class T>
struct MovedRows {
    const CsrRows<T>* blocks;
    Index n_blocks;
    const std::int32_t* labels;
    const std::int32_t* before;
    const T* weights;  // nullptr: 1
    Index n_rows;
};

// IN/OUT. Sum and mass of each cluster's rows, and the panels of the sums.
template <class T>
struct SparseSums {
    double* sums;  // n_clusters x n_columns
    double* masses;
    T* panels;  // see SumPanels
    Index n_beside;
    Index n_clusters;
    Index n_columns;
};

namespace {

template <class Isa, int Beside, class T>
void scaled_scores(const CsrRows<T>& x, Index i, const SumPanels<T>& panels, Index p, T* out) {
    using V = typename Isa::template Vector<T>;
    constexpr int L = sizeof(V) / sizeof(T), NV = Beside * 64 / sizeof(V);
    const Index stride = panels.n_beside * kLanes<T>;
    const T* slab = panels.values + p * x.n_columns * kLanes<T>;
    V sums[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) sums[v] = V{};
    for (Index e = x.begin(i), end = x.end(i); e < end; ++e) {
        const T* b = slab + static_cast<Index>(x.columns[e]) * stride;
        const T value = x.values[e];
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) sums[v] += value * *reinterpret_cast<const V*>(b + v * L);
    }
    const T* scales = panels.scales + p * kLanes<T>;
    const T* offsets = panels.offsets + p * kLanes<T>;
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v)
        *reinterpret_cast<V*>(out + v * L) = sums[v] * *reinterpret_cast<const V*>(scales + v * L) +
                                             *reinterpret_cast<const V*>(offsets + v * L);
}

// OUT labels (n): the nearest centroid of each row, the first of equal ones; scores (n).
template <class Isa, class Rows>
void nearest_mean(const Rows& x, const SumPanels<typename Rows::value_type>& panels, std::int32_t* labels,
                  typename Rows::value_type* scores, int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>, kChunk = 64;
    parallel_for(ceil_div(x.n_rows, kChunk), n_threads, [&](Index task) {
        alignas(64) T tile[kMostBeside<CsrRows<T>> * kLanes<T>];
        for (Index i = task * kChunk; i < min_index(x.n_rows, (task + 1) * kChunk); ++i) {
            T best = infinity<T>();
            Index id = 0;
            for (Index p = 0; p < panels.n_panels; p += panels.n_beside) {
                switch (panels.n_beside) {
                    case 4: scaled_scores<Isa, 4>(x, i, panels, p, tile); break;
                    case 3: scaled_scores<Isa, 3>(x, i, panels, p, tile); break;
                    case 2: scaled_scores<Isa, 2>(x, i, panels, p, tile); break;
                    default: scaled_scores<Isa, 1>(x, i, panels, p, tile);
                }
                for (Index b = 0; b < panels.n_beside; ++b)
                    for (unsigned lanes = Isa::below(tile + b * W, best); lanes != 0; lanes &= lanes - 1) {
                        const Index lane = b * W + __builtin_ctz(lanes);
                        if (tile[lane] < best) {
                            best = tile[lane];
                            id = p * W + lane;
                        }
                    }
            }
            labels[i] = static_cast<std::int32_t>(id);
            scores[i] = best;
        }
    });
}

// Writes vectors into lanes of the panels. IN clusters (n): of the lanes; vectors (n x n_columns); OUT panels.
template <class Isa, class T, class V>
void write_lanes(const V* vectors, const std::int32_t* clusters, Index n, Index n_columns, T* panels, Index n_beside,
                 int n_threads) {
    // A piece of all lanes of a slab stays in the cache while one lane after the other is written.
    constexpr Index kPiece = 256;
    const Index stride = n_beside * kLanes<T>;
    parallel_for(ceil_div(n_columns, kPiece), n_threads, [&](Index task) {
        const Index end = min_index(n_columns, (task + 1) * kPiece);
        for (Index i = 0; i < n; ++i) {
            T* lane = panels + clusters[i] / stride * n_columns * stride + clusters[i] % stride;
            for (Index j = task * kPiece; j < end; ++j) lane[j * stride] = static_cast<T>(vectors[i * n_columns + j]);
        }
    });
}

// The change of one cluster's sum: a dense row with a list of its non-zero columns.
struct SparseChange {
    Buffer<double> values;
    Buffer<std::uint64_t> marks;

    explicit SparseChange(Index n_columns) : values(n_columns), marks(ceil_div(n_columns, 64)) {
        values.fill(0);
        marks.fill(0);
    }
    template <class T>
    void add(const CsrRows<T>& x, Index i, double weight) {
        for (Index e = x.begin(i), end = x.end(i); e < end; ++e) {
            const Index j = x.columns[e];
            values[j] += weight * static_cast<double>(x.values[e]);
            marks[j / 64] |= std::uint64_t{1} << (j % 64);
        }
    }
    // Calls use(column, value) for all marked columns in ascending order and forgets them.
    template <class Use>
    void drain(Index n_columns, Use use) {
        for (Index w = 0; w < ceil_div(n_columns, 64); ++w) {
            for (std::uint64_t bits = marks[w]; bits != 0; bits &= bits - 1) {
                const Index j = w * 64 + __builtin_ctzll(bits);
                use(j, values[j]);
                values[j] = 0;
            }
            marks[w] = 0;
        }
    }
};

// Adds changes of labels to the sums.
// OUT per cluster: squares = sum of the squared changes of the sum, with_sums = changes . sum before, with_panels =
// changes . panel before.
template <class Isa, class T>
void move_sparse_rows(const MovedRows<T>& moved, const SparseSums<T>& state, double* squares, double* with_sums,
                double* with_panels, int n_threads) {
    const Index d = state.n_columns, stride = state.n_beside * kLanes<T>;
    const Moves moves = moves_by_cluster(moved.labels, moved.before, moved.n_rows, state.n_clusters);
    parallel_for(
        state.n_clusters, n_threads, [&] { return SparseChange(d); },
        [&](Index c, SparseChange& change) {
            Index block = 0, first = 0;
            for (Index m = moves.starts[c]; m < moves.starts[c + 1]; ++m) {
                const Index i = moves.rows[m] / 2;
                while (i - first >= moved.blocks[block].n_rows) first += moved.blocks[block++].n_rows;
                const double w = weight_of(moves.rows[m], moved.weights);
                if (w == 0) continue;  // a centroid without mass must stay where it is
                state.masses[c] += w;
                change.add(moved.blocks[block], i - first, w);
            }
            double* sum = state.sums + c * d;
            T* lane = state.panels + c / stride * d * stride + c % stride;
            double square = 0, with_sum = 0, with_panel = 0;
            change.drain(d, [&](Index j, double a) {
                square += a * a;
                with_sum += a * sum[j];
                with_panel += a * static_cast<double>(lane[j * stride]);
                sum[j] += a;
                lane[j * stride] = static_cast<T>(sum[j]);
            });
            squares[c] = square;
            with_sums[c] = with_sum;
            with_panels[c] = with_panel;
        });
}

}  // namespace
}  // namespace coterie
