// The kernels compiled for an instruction set and for one type of numbers, COTERIE_NUMBER. Each file of this folder is
// compiled once per type, so that the two halves compile side by side.
#pragma once

#include "coterie/kernel_table.hpp"

namespace coterie {
namespace {

using Number = COTERIE_NUMBER;

template <class Isa>
KernelsOf<Number> kernels_of() {
    return __builtin_bit_cast(KernelsOf<Number>, KernelsOf<Number, Isa>{});
}

template <class Isa>
SearchesOf<Number> searches_of() {
    return __builtin_bit_cast(SearchesOf<Number>, SearchesOf<Number, Isa>{});
}

}  // namespace
}  // namespace coterie
