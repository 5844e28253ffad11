// Plain views of rows that Python owns. Nothing here allocates.
#pragma once

#include "coterie/machine/numbers.hpp"

namespace coterie {

// Row-major dense rows, or a selection of them: row i is selection[i] (nullptr: i itself).
template <class T>
struct DenseRows {
    using value_type = T;
    const T* data;
    Index n_rows;
    Index n_columns;
    const Index* selection;

    Index n_terms(Index) const { return n_columns; }  // of a product with the row
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
    Index n_terms(Index i) const { return end(i) - begin(i); }
};

namespace {

// Prefetches the beginning of a row; a row beyond the end is permitted.
template <class T>
void prefetch_row(const DenseRows<T>& x, Index i) {
    const char* row = reinterpret_cast<const char*>(x.row(i));
    const Index bytes = min_index(512, x.n_columns * static_cast<Index>(sizeof(T)));
    for (Index b = 0; b < bytes; b += 64) __builtin_prefetch(row + b);
}

template <class T>
void prefetch_row(const CsrRows<T>&, Index) {}

}  // namespace
}  // namespace coterie
