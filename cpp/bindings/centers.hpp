// Centers as Python passes them, and the checks of the arguments that come with them.
#pragma once

#include "bindings.hpp"
#include "coterie/centers/differences.hpp"
#include "coterie/centers/panels.hpp"

namespace coterie {

template <class T>
Centers<T> centers_view(const In2<T>& centers, const In1<T>& offsets, Index n_columns) {
    require(centers.shape(1) == n_columns, "centers and rows differ in width");
    require(offsets.shape(0) == centers.shape(0), "one offset per center is needed");
    require(centers.shape(0) >= 1, "no centers");
    return {centers, offsets, centers.shape(0), n_columns};
}

template <class T>
ScaledCenters<T> scaled_centers_view(const In2<T>& centers, const std::optional<In2<T>>& scales,
                                     const In1<T>& precisions, const In1<T>& offsets, Index n_columns) {
    const Index n = centers.shape(0);
    require(centers.shape(1) == n_columns, "centers and rows differ in width");
    require(n >= 1, "no centers");
    require_size(n * n_columns, "scales and centers differ in shape", scales);
    require_size(n, "one number per center is needed", precisions, offsets);
    return {centers, data_or_null(scales), precisions, offsets, n, n_columns};
}

}  // namespace coterie
