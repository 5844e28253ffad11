// Plain views of arrays that Python owns. Nothing here allocates.
#pragma once

#include <cstdint>

namespace coterie {

using Index = std::int64_t;

// Row-major dense rows.
template <class T>
struct DenseRows {
    using value_type = T;
    const T* data;
    Index n_rows;
    Index n_columns;

    const T* row(Index i) const { return data + i * n_columns; }
};

// Compressed sparse rows, column indices ascending within a row.
template <class T>
struct CsrRows {
    using value_type = T;
    const T* values;
    const std::int32_t* columns;
    const std::int32_t* starts;
    Index n_rows;
    Index n_columns;
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
