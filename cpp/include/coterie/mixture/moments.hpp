// Sums of the M-step.
#pragma once

#include "coterie/machine/views.hpp"
#include "coterie/mixture/groups.hpp"

namespace coterie {

// The shares of rows in their candidates.
template <class T>
struct Shares {
    const std::int32_t* candidates;  // n_rows x n_candidates
    const T* shares;                 // the same shape, descending
    const T* energies;               // the same shape
    const T* weights;                // n_rows, or nullptr: 1
    Index n_candidates;
};

namespace {

// Sufficient statistics of a component, or of a piece of its rows.
struct Moments {
    double* mass;     // sum of the weights
    double* energy;   // weighted sum of the energies
    double* first;    // n_columns: weighted sum of the rows, relative to the mean
    double* second;   // n_columns: of the squares of the same; or nullptr
};

template <class T, int AtOnce, bool Second>
void add_rows_to_moments(const DenseRows<T>& x, const Index* rows, const double* weights, const T* mean,
                         const Moments& out) {
    const T* from[AtOnce];
    for (int r = 0; r < AtOnce; ++r) from[r] = x.row(rows[r]);
    double* const first = out.first;
    double* const second = out.second;
    for (Index j = 0; j < x.n_columns; ++j) {
        double sum = first[j], square = Second ? second[j] : 0;
#pragma GCC unroll 4
        for (int r = 0; r < AtOnce; ++r) {
            const double difference = static_cast<double>(from[r][j] - mean[j]);
            sum += weights[r] * difference;
            if constexpr (Second) square += weights[r] * difference * difference;
        }
        first[j] = sum;
        if constexpr (Second) second[j] = square;
    }
}

// The data of a row that has a share in a component. Rows up to `end` are prefetched.
template <class T>
struct Entry {
    std::int32_t row;
    T weight;
    T energy;
};

template <class T, bool Second>
void add_moments(const DenseRows<T>& x, const Entry<T>* entries, Index n, const Entry<T>* end, const T* mean,
                 const Moments& out) {
    constexpr int AtOnce = 4;
    constexpr Index kAhead = 24;
    Index rows[AtOnce];
    double weights[AtOnce], mass = 0, energy = 0;
    for (Index e = 0; e < n; e += AtOnce) {
        const int taken = static_cast<int>(min_index(AtOnce, n - e));
        for (int r = 0; r < taken; ++r) {
            const Entry<T>& entry = entries[e + r];
            if (end - entries > e + r + kAhead) prefetch_row(x, entries[e + r + kAhead].row);
            rows[r] = entry.row;
            weights[r] = static_cast<double>(entry.weight);
            mass += weights[r];
            energy += weights[r] * static_cast<double>(entry.energy);
        }
        if (taken == AtOnce) add_rows_to_moments<T, AtOnce, Second>(x, rows, weights, mean, out);
        else
            for (int r = 0; r < taken; ++r) add_rows_to_moments<T, 1, Second>(x, rows + r, weights + r, mean, out);
    }
    *out.mass += mass;
    *out.energy += energy;
}

template <class T>
void add_chunk_to_moments(const DenseRows<T>& x, const Shares<T>& shares, const T* means, Index n_components,
                          double* masses, double* energies, double* first, double* second, int n_threads) {
    constexpr Index kMostEntries = 2048;
    const Index d = x.n_columns, m = shares.n_candidates;
    const Grouping<Entry<T>> groups =
        group_by<Entry<T>>(x.n_rows, n_components, n_threads, [&](Index begin, Index end, auto&& take) {
            for (Index i = begin; i < end; ++i) {
                const T weight = shares.weights == nullptr ? T(1) : shares.weights[i];
                for (Index e = i * m; e < (i + 1) * m && shares.shares[e] > 0; ++e)
                    take(shares.candidates[e],
                         Entry<T>{static_cast<std::int32_t>(i), weight * shares.shares[e], shares.energies[e]});
            }
        });
    const Pieces pieces = cut_groups(groups.starts.data(), n_components, kMostEntries);
    const GroupSums<4> sums{{masses, energies, first, second}, {1, 1, d, second == nullptr ? 0 : d}};
    const auto add_piece = [&](const Piece& piece, double* const* own, NoScratch&) {
        const auto add = second == nullptr ? add_moments<T, false> : add_moments<T, true>;
        const Entry<T>* const entries = groups.items.data();
        add(x, entries + piece.begin, piece.end - piece.begin, entries + groups.items.size(), means + piece.group * d,
            {own[0], own[1], own[2], own[3]});
    };
    add_pieces(pieces, n_components, sums, n_threads, [] { return NoScratch{}; }, add_piece);
}

// Adds up the sufficient statistics of the M-step for each component.
// IN x, shares, means (n_components x d);
// IN/OUT masses, energies (n_components), first (n_components x d), second (the same, or nullptr).
template <class Isa, class T>
void mixture_moments(const DenseRows<T>& x, const Shares<T>& shares, const T* means, Index n_components, double* masses,
                     double* energies, double* first, double* second, int n_threads) {
    // A row is read once for each of its shares, at different times: a chunk stays in the cache meanwhile.
    constexpr Index kChunkBytes = 4 << 20;
    const Index chunk = max_index(4096, kChunkBytes / (x.n_columns * static_cast<Index>(sizeof(T))));
    for (Index begin = 0; begin < x.n_rows; begin += chunk) {
        const Index n = min_index(chunk, x.n_rows - begin), m = shares.n_candidates;
        const bool selected = x.selection != nullptr;
        const DenseRows<T> rows{selected ? x.data : x.row(begin), n, x.n_columns, selected ? x.selection + begin : nullptr};
        const Shares<T> given{shares.candidates + begin * m, shares.shares + begin * m, shares.energies + begin * m,
                              shares.weights == nullptr ? nullptr : shares.weights + begin, m};
        add_chunk_to_moments(rows, given, means, n_components, masses, energies, first, second, n_threads);
    }
}

}  // namespace
}  // namespace coterie
