// Arrays as the bindings take them, and the functions that register each part of the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "coterie/machine/views.hpp"

namespace coterie {

namespace nb = nanobind;

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// An error for whoever writes the Python drivers; users' mistakes are caught before.
inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(std::string("kernel: ") + what);
}

template <class Array>
const typename Array::Scalar* data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

void bind_centers(nb::module_& m);
void bind_mixture(nb::module_& m);
void bind_laplacian_kmodes(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_convex(nb::module_& m);
void bind_total_variation(nb::module_& m);

}  // namespace coterie
