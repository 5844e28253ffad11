// Running means with a bounded memory: each center is the mean of about the last rows that it has received.
#pragma once

#include "coterie/centers/assign.hpp"
#include "coterie/centers/positions.hpp"
#include "coterie/centers/sums.hpp"

namespace coterie {

// IN shift, unit_length (scale centers to length 1); IN/OUT the others. `means` are relative to the shift, `counts` the
// mass that each is the mean of; for the others see relate_centers.
template <class T>
struct RunningMeans {
    Index n_centers, n_columns;
    const double* shift;
    bool unit_length;
    double *means, *counts;
    T *centers, *relative;
    double* squares;
    T* offsets;
};

// Consecutive batches of rows. IN weights (nullptr: 1), ends, memories (of each batch), order (of the centers, by their
// lengths at the beginning). OUT inertias (n_batches): with the centers before each. IN/OUT sums, masses (of the centers),
// to which those of the rows are added; or nullptr.
template <class T>
struct MeanBatches {
    DenseRows<T> rows;
    const T* weights;
    Index n_batches;
    const Index* ends;
    const double* memories;
    const std::int32_t* order;
    double *inertias, *sums, *masses;
};

namespace {

// means + shift at length 1, less the shift. A mean without direction becomes the center that it was before.
template <class T>
void scale_to_length_1(const RunningMeans<T>& m, Index c) {
    constexpr Index kChains = 8;
    double *const mean = m.means + c * m.n_columns, square[kChains] = {};
    for (Index j = 0; j < m.n_columns; ++j) {
        const double whole = mean[j] + m.shift[j];
        square[j % kChains] = multiply_add_in_order(whole, whole, square[j % kChains]);
    }
    for (Index u = 1; u < kChains; ++u) square[0] += square[u];
    const double length = square_root(square[0]);
    for (Index j = 0; j < m.n_columns; ++j) {
        const double before = static_cast<double>(m.centers[c * m.n_columns + j]);
        mean[j] = (length > 1e-12 ? (mean[j] + m.shift[j]) / length : before) - m.shift[j];
    }
}

// Moves a center to the mean of rows with this sum (relative to the shift) and mass, and of those before, of which it
// remembers no more than `memory`.
template <class Isa, class T>
void move_mean(const RunningMeans<T>& m, Index c, const double* sum, double mass, double memory) {
    const Index d = m.n_columns, at = c * d;
    if (memory < m.counts[c]) m.counts[c] = memory;
    if (!(mass > 0)) return;
    m.counts[c] += mass;
    const double step = mass / m.counts[c], inverse = 1 / mass;
    double* const __restrict__ mean = m.means + at;
    T* const __restrict__ center = m.centers + at;
    for (Index j = 0; j < d; ++j)
        mean[j] = multiply_add_in_order(step, multiply_add_in_order(sum[j], inverse, -mean[j]), mean[j]);
    if (m.unit_length) scale_to_length_1(m, c);
    for (Index j = 0; j < d; ++j) center[j] = static_cast<T>(mean[j] + m.shift[j]);
    relate_center<Isa>(center, m.shift, d, m.relative + at, m.squares + c, m.offsets + c);
}

// IN sums (n_centers x n_columns), masses (n_centers) of the rows of a batch.
template <class Isa, class T>
void move_means_by_sums(const RunningMeans<T>& m, const double* sums, const double* masses, double memory,
                        int n_threads) {
    parallel_for(m.n_centers, n_threads,
                 [&](Index c) { move_mean<Isa>(m, c, sums + c * m.n_columns, masses[c], memory); });
}

// Adds weight * (row - shift) to a sum; returns the squared length of row - shift.
template <class Isa, class T>
double add_row(const T* row, const double* shift, double weight, Index d, double* sum) {
    using Stored = typename Isa::template UnalignedVector<double>;
    Chains<Isa> square;
    for_chains<Isa>(
        d,
        [&](Index j, Index v) {
            const auto value = Isa::doubles(row + j) - Isa::doubles(shift + j);
            *reinterpret_cast<Stored*>(sum + j) += weight * value;
            square.add(v, value, value);
        },
        [&](Index j) {
            const double value = static_cast<double>(row[j]) - shift[j];
            sum[j] = multiply_add_in_order(weight, value, sum[j]);
            square.add_last(value, value);
        });
    return square.sum();
}

// The weighted sum of the squared distances to a center of rows with this sum, mass and this sum of their squares.
template <class Isa, class T>
double inertia_of(const RunningMeans<T>& m, Index c, const double* sum, double mass, double squares) {
    const T* const center = m.relative + c * m.n_columns;
    Chains<Isa> dot;
    for_chains<Isa>(
        m.n_columns, [&](Index j, Index v) { dot.add(v, Isa::doubles(sum + j), Isa::doubles(center + j)); },
        [&](Index j) { dot.add_last(sum[j], static_cast<double>(center[j])); });
    const double inertia = squares + mass * m.squares[c] - 2 * dot.sum();
    return inertia < 0 ? 0 : inertia;
}

// IN x, labels, weights (or nullptr: 1); OUT inertias (n_centers): of the rows of each center, before it moves. IN/OUT
// sums, masses: of the centers, to which those of the rows are added; or nullptr.
template <class Isa, class T>
void move_means_by_rows(const RunningMeans<T>& m, const DenseRows<T>& x, const std::int32_t* labels, const T* weights,
                        double memory, double* inertias, double* sums, double* masses, int n_threads) {
    const Index d = m.n_columns;
    const Moves moves = moves_by_cluster(labels, nullptr, x.n_rows, m.n_centers);
    parallel_for(
        m.n_centers, n_threads, [&] { return Buffer<double>(d); },
        [&](Index c, Buffer<double>& sum) {
            double mass = 0, squares = 0;
            sum.fill(0);
            for (Index e = moves.starts[c]; e < moves.starts[c + 1]; ++e) {
                const double weight = weight_of(moves.rows[e], weights);
                squares += weight * add_row<Isa>(x.row(moves.rows[e] / 2), m.shift, weight, d, sum.data());
                mass += weight;
            }
            inertias[c] = mass > 0 ? inertia_of<Isa>(m, c, sum.data(), mass, squares) : 0;
            if (sums != nullptr && mass > 0) {
                masses[c] += mass;
                for (Index j = 0; j < d; ++j) sums[c * d + j] += sum[j];
            }
            move_mean<Isa>(m, c, sum.data(), mass, memory);
        });
}

// Assigns the rows of each batch to their nearest centers, and moves these.
template <class Isa, class T>
void take_batches(const RunningMeans<T>& m, const MeanBatches<T>& batches, int n_threads) {
    // Side by side, the rows of a batch are read twice without waiting for memory.
    constexpr Index kMostGathered = 1 << 20;
    const DenseRows<T>& all = batches.rows;
    const Index k = m.n_centers, d = m.n_columns;
    Index most = 0;
    for (Index b = 0; b < batches.n_batches; ++b)
        most = max_index(most, batches.ends[b] - (b == 0 ? 0 : batches.ends[b - 1]));
    const bool gathers = all.selection != nullptr && most * d <= kMostGathered;
    Buffer<T> gathered(gathers ? most * d : 0);
    Buffer<std::int32_t> labels(most);
    Buffer<double> of_clusters(k);
    const ExactCenters<T> centers{{m.relative, m.offsets, k, d}, m.centers, m.squares, nullptr, m.shift, batches.order};
    for (Index b = 0, begin = 0; b < batches.n_batches; begin = batches.ends[b++]) {
        DenseRows<T> batch{all.selection == nullptr ? all.data + begin * d : all.data, batches.ends[b] - begin, d,
                           all.selection == nullptr ? nullptr : all.selection + begin};
        if (gathers) {
            for (Index i = 0; i < batch.n_rows; ++i)
                __builtin_memcpy(gathered.data() + i * d, batch.row(i), static_cast<std::size_t>(d) * sizeof(T));
            batch = {gathered.data(), batch.n_rows, d, nullptr};
        }
        Index n_compared = 0;
        assign<Isa>(batch, centers, Filter::automatic, nullptr, Assigned{labels.data(), nullptr, &n_compared}, n_threads);
        move_means_by_rows<Isa>(m, batch, labels.data(), batches.weights == nullptr ? nullptr : batches.weights + begin,
                                batches.memories[b], of_clusters.data(), batches.sums, batches.masses, n_threads);
        double inertia = 0;
        for (Index c = 0; c < k; ++c) inertia += of_clusters[c];
        batches.inertias[b] = inertia;
    }
}

}  // namespace
}  // namespace coterie
