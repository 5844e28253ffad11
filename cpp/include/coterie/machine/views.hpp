// Plain views of arrays that Python owns. Nothing here allocates.
#pragma once

#include <cstdint>

namespace coterie {

using Index = std::int64_t;

inline constexpr Index kQuantum = 256;  // rows per partial sum; blocks of rows are cut at its multiples

// Row-major dense rows, or a selection of them: row i is selection[i] (nullptr: i itself).
template <class T>
struct DenseRows {
    using value_type = T;
    const T* data;
    Index n_rows;
    Index n_columns;
    const Index* selection;

    const T* row(Index i) const { return data + (selection == nullptr ? i : selection[i]) * n_columns; }
};

// Compressed sparse rows, column indices ascending within a row, or a selection of them.
template <class T>
struct CsrRows {
    using value_type = T;
    const T* values;
    const std::int32_t* columns;
    const std::int32_t* starts;
    Index n_rows;
    Index n_columns;
    const Index* selection;

    // The entries of row i are begin(i) .. end(i) - 1.
    Index begin(Index i) const { return starts[selection == nullptr ? i : selection[i]]; }
    Index end(Index i) const { return starts[(selection == nullptr ? i : selection[i]) + 1]; }
};

// Centroids relative to the data's shift m, as the kernels want them:
// ||x - c||^2 = ||x - m||^2 + offsets[c] - 2 x . centers[c], with offsets[c] = ||c - m||^2 + 2 m . (c - m).
template <class T>
struct Centers {
    const T* data;       // n_centers x n_columns, row-major, each minus the shift
    const T* offsets;    // n_centers
    Index n_centers;
    Index n_columns;
};

}  // namespace coterie
