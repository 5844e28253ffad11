// Arrays as the bindings take them, and the functions that register each part of the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "coterie/machine/numbers.hpp"

namespace coterie {

namespace nb = nanobind;
using nb::arg;

// Releases the lock of the interpreter. A daemon thread that wants it back while the interpreter ends is ended by Python
// before 3.14, which unwinds its stack by force; that must not pass a destructor, so the thread sleeps here until the
// process has ended, as it does in Python 3.14.
class WithoutLock {
   public:
    WithoutLock() : state_(PyEval_SaveThread()) {}
    WithoutLock(const WithoutLock&) = delete;
    WithoutLock& operator=(const WithoutLock&) = delete;
    ~WithoutLock() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }

   private:
    PyThreadState* state_;
};
using Unlocked = nb::call_guard<WithoutLock>;

// Never moved: an argument of a kernel shares its array with the caller, so that the end of the argument needs no lock.
template <class T, int N>
struct ArrayOf : nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
    using Base = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
    ArrayOf() = default;
    ArrayOf(const ArrayOf&) = default;
    ArrayOf& operator=(const ArrayOf&) = default;
    ~ArrayOf() = default;
    explicit ArrayOf(Base array) : Base(std::move(array)) {}
};
template <class T>
using In1 = ArrayOf<const T, 1>;
template <class T>
using In2 = ArrayOf<const T, 2>;
template <class T>
using Out1 = ArrayOf<T, 1>;
template <class T>
using Out2 = ArrayOf<T, 2>;

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
void bind_running_means(nb::module_& m);
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

// Compiled once per type of arrays, not into each function that takes one.
template <class T, int N>
struct type_caster<coterie::ArrayOf<T, N>> {
    using Array = coterie::ArrayOf<T, N>;
    using Base = typename Array::Base;
    NB_TYPE_CASTER(Array, make_caster<Base>::Name)

    // An array that a kernel writes has to have the right type: nanobind would fill a converted copy of another one.
    template <class Flags>
    __attribute__((noinline)) bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<Base> caster;
        if constexpr (!std::is_const_v<T>) flags &= ~static_cast<Flags>(cast_flags::convert);
        if (!caster.from_python(source, flags, cleanup)) return false;
        value = Array(std::move(caster.value));
        return true;
    }
};

}  // namespace nanobind::detail
