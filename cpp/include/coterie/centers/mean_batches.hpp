// Annealed mini-batches: each is assigned, and then taken into running means.
#pragma once

#include "coterie/centers/assign.hpp"
#include "coterie/centers/running_means.hpp"

namespace coterie {

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
