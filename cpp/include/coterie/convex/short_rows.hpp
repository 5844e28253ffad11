// Rows of 1, 2 or 4 columns, each in a register.
#pragma once

#include "coterie/convex/norms.hpp"

namespace coterie {
namespace {

// One row of 1, 2 or 4 columns in a register.
template <class T, Index P>
struct ShortRow {
    typedef T Vector __attribute__((vector_size(P * sizeof(T)), aligned(alignof(T)), may_alias));

    static Vector load(const T* rows, Index i) { return *reinterpret_cast<const Vector*>(rows + i * P); }
    static void store(T* rows, Index i, Vector row) { *reinterpret_cast<Vector*>(rows + i * P) = row; }
    static T sum(Vector row) {
        if constexpr (P == 1) return row[0];
        else if constexpr (P == 2) return row[0] + row[1];
        else return (row[0] + row[2]) + (row[1] + row[3]);
    }
};

inline constexpr Index kShortEdges = 16;  // side by side, so that roots and quotients are vectors

// Calls kernel.template operator()<P>() if all of the norm is one Euclidean norm of P = 1, 2 or 4 columns.
template <class Kernel>
inline bool with_short_rows(const FusionNorm& norm, Kernel kernel) {
    const bool is_euclidean = norm.n_groups == 1 && !norm.is_maximum;
    if (norm.n_columns == 1) kernel.template operator()<1>();
    else if (is_euclidean && norm.n_columns == 2) kernel.template operator()<2>();
    else if (is_euclidean && norm.n_columns == 4) kernel.template operator()<4>();
    else return false;
    return true;
}

}  // namespace
}  // namespace coterie
