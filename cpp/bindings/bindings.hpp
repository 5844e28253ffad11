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
    Index shape(std::size_t axis) const { return static_cast<Index>(Base::shape(axis)); }
    Index size() const { return static_cast<Index>(Base::size()); }
    operator T*() const { return this->data(); }
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

// Of each array that is there.
template <class... Arrays>
void require_size(Index size, const char* what, const Arrays&... arrays) {
    const auto fits = [size](const auto& array) {
        if constexpr (requires { array->size(); }) return !array || array->size() == size;
        else return array.size() == size;
    };
    require((fits(arrays) && ...), what);
}

template <class... Arrays>
void require_aligned(const char* what, const Arrays&... arrays) {
    require(((reinterpret_cast<std::uintptr_t>(arrays.data()) % kLineBytes == 0) && ...), what);
}

// Checks numbers from Python: with one out of range a kernel would access memory outside of its arrays.
template <class... Arrays>
void require_between(Index lowest, Index end, const char* what, const Arrays&... arrays) {
    const auto fits = [=](const auto& numbers) {
        bool all = true;
        for (Index i = 0, n = numbers.size(); i < n; ++i) all &= numbers[i] >= lowest && numbers[i] < end;
        return all;
    };
    require((fits(arrays) && ...), what);
}

// The start of the entries of each row, and the end of the last.
template <class Array>
void require_starts(const Array& starts) {
    require(starts.size() >= 1 && starts[0] == 0, "starts does not begin with 0");
    for (Index i = 1; i < starts.size(); ++i) require(starts[i - 1] <= starts[i], "starts decreases");
}

template <class Array>
auto data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

void bind_machine(nb::module_& m);
void bind_centers(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_mixture(nb::module_& m);
void bind_laplacian_kmodes(nb::module_& m);
void bind_convex(nb::module_& m);
void bind_total_variation(nb::module_& m);
void bind_multilevel(nb::module_& m);

}  // namespace coterie

namespace nanobind::detail {

// Compiled once per type of arrays, not into each function that takes one.
template <class T, int N>
struct type_caster<coterie::ArrayOf<T, N>> {
    using Array = coterie::ArrayOf<T, N>;
    using Base = typename Array::Base;
    NB_TYPE_CASTER(Array, make_caster<Base>::Name)

    // Arrays have to have the right type: nanobind would fill a converted copy of another one. Only those that are read
    // are copied, to whole rows, or to doubles, which is exact.
    template <class Flags>
    __attribute__((noinline)) bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        const Flags as_is = flags & ~static_cast<Flags>(cast_flags::convert);
        make_caster<Base> caster;
        if (!caster.from_python(source, as_is, cleanup)) {
            if (flags == as_is || !std::is_const_v<T>) return false;
            make_caster<ndarray<ro>> given;
            const bool is_exact = std::is_same_v<T, const double> || !given.from_python(source, as_is, cleanup) ||
                                  given.value.dtype() == dtype<T>();
            if (!is_exact || !caster.from_python(source, flags, cleanup)) return false;
        }
        value = Array(std::move(caster.value));
        return true;
    }
};

}  // namespace nanobind::detail
