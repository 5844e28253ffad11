// Centers as Python passes them, and the checks of the arguments that come with them.
#pragma once

#include "bindings.hpp"
#include "coterie/centers/differences.hpp"
#include "coterie/centers/panels.hpp"

namespace coterie {

template <class T>
Centers<T> centers_view(const In2<T>& centers, const In1<T>& offsets, Index n_columns) {
    require(static_cast<Index>(centers.shape(1)) == n_columns, "centers and rows differ in width");
    require(offsets.shape(0) == centers.shape(0), "one offset per center is needed");
    require(centers.shape(0) >= 1, "no centers");
    return {centers.data(), offsets.data(), static_cast<Index>(centers.shape(0)), n_columns};
}

template <class T>
ScaledCenters<T> scaled_centers_view(const In2<T>& centers, const std::optional<In2<T>>& scales,
                                     const In1<T>& precisions, const In1<T>& offsets, Index n_columns) {
    const Index n = static_cast<Index>(centers.shape(0));
    require(static_cast<Index>(centers.shape(1)) == n_columns, "centers and rows differ in width");
    require(n >= 1, "no centers");
    if (scales) require_size(*scales, n * n_columns, "scales and centers differ in shape");
    require_size(precisions, n, "one precision per center is needed");
    require_size(offsets, n, "one offset per center is needed");
    return {centers.data(), data_or_null(scales), precisions.data(), offsets.data(), n, n_columns};
}

}  // namespace coterie
