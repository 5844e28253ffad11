// Blocks of rows as Python hands them over.
#pragma once

#include "bindings.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {

using Selection = std::optional<In1<Index>>;

inline Index n_selected(const Selection& selection, Index n_rows) {
    return selection ? selection->shape(0) : n_rows;
}

// Rows as Python hands them over, or a selection of them; keeps the arrays alive.
template <class T>
struct DenseBlock {
    using Rows = DenseRows<T>;
    In2<T> array;
    Selection selection;

    Index n_stored() const { return array.shape(0); }
    Rows view() const {
        return {array, n_selected(selection, n_stored()), array.shape(1),
                data_or_null(selection)};
    }
};

template <class T>
struct SparseBlock {
    using Rows = CsrRows<T>;
    In1<T> values;
    In1<std::int32_t> columns, starts;
    Index n_columns;
    Selection selection;

    Index n_stored() const { return starts.shape(0) - 1; }
    Rows view() const {
        return {values, columns, starts, n_selected(selection, n_stored()), n_columns,
                data_or_null(selection)};
    }
};

// Calls bind.template operator()<Block>() for all types of blocks, in the order in which overloads are tried.
template <class Bind>
void for_each_block(Bind bind) {
    bind.template operator()<DenseBlock<float>>();
    bind.template operator()<SparseBlock<float>>();
    bind.template operator()<DenseBlock<double>>();
    bind.template operator()<SparseBlock<double>>();
}

}  // namespace coterie
