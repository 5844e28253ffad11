// Arrays as the bindings take them, and the functions that register each part of the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "coterie/machine/numbers.hpp"

namespace coterie {

namespace nb = nanobind;
using nb::arg;
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// An array that a kernel writes: one of another type is an error, where nanobind would fill a converted copy of it.
template <class T, int N>
struct Out : nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
    using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
    Out() = default;
    explicit Out(Array array) : Array(std::move(array)) {}
};
template <class T>
using Out1 = Out<T, 1>;
template <class T>
using Out2 = Out<T, 2>;

// An error of a Python driver; users' arguments are validated before.
inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(std::string("kernel: ") + what);
}

template <class Array>
void require_size(const Array& array, Index size, const char* what) {
    require(static_cast<Index>(array.size()) == size, what);
}

template <class Array>
void require_aligned(const Array& array, const char* what) {
    require(reinterpret_cast<std::uintptr_t>(array.data()) % kLineBytes == 0, what);
}

// Checks numbers from Python: with one out of range a kernel would access memory outside of its arrays.
template <class Array>
void require_between(const Array& numbers, Index lowest, Index end, const char* what) {
    const auto* const values = numbers.data();
    const Index n = static_cast<Index>(numbers.size());
    for (Index i = 0; i < n; ++i) require(values[i] >= lowest && values[i] < end, what);
}

// The start of the entries of each row, and the end of the last.
template <class Array>
void require_starts(const Array& starts) {
    const auto* const values = starts.data();
    const Index n = static_cast<Index>(starts.size());
    require(n >= 1 && values[0] == 0, "starts does not begin with 0");
    for (Index i = 1; i < n; ++i) require(values[i - 1] <= values[i], "starts decreases");
}

template <class Array>
const typename Array::Scalar* data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

void bind_machine(nb::module_& m);
void bind_centers(nb::module_& m);
void bind_size_constrained(nb::module_& m);
void bind_seeding(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_mixture(nb::module_& m);
void bind_laplacian_kmodes(nb::module_& m);
void bind_convex(nb::module_& m);
void bind_total_variation(nb::module_& m);
void bind_density(nb::module_& m);
void bind_multilevel(nb::module_& m);

}  // namespace coterie

namespace nanobind::detail {

template <class T, int N>
struct type_caster<coterie::Out<T, N>> {
    using Output = coterie::Out<T, N>;
    using Array = typename Output::Array;
    NB_TYPE_CASTER(Output, make_caster<Array>::Name)

    template <class Flags>
    bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<Array> caster;
        if (!caster.from_python(source, flags & ~static_cast<Flags>(cast_flags::convert), cleanup)) return false;
        value = Output(std::move(caster.value));
        return true;
    }
};

}  // namespace nanobind::detail
