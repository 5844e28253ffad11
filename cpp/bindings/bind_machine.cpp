// Instruction sets, sizes of the machine, blocks of rows.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "blocks.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class T>
DenseBlock<T> dense_rows(In2<T> array) {
    return {array, {}};
}

template <class T>
SparseBlock<T> sparse_rows(In1<T> values, In1<std::int32_t> columns, In1<std::int32_t> starts, Index n_columns) {
    require_starts(starts);
    const auto n_entries = static_cast<std::size_t>(starts[starts.size() - 1]);
    require(n_entries <= values.size(), "starts goes beyond the values");
    require(columns.size() == values.size(), "columns and values differ in length");
    require_between(0, n_columns, "a column index is out of range", columns);
    return {values, columns, starts, n_columns, {}};
}

template <class Block>
Block select_rows(const Block& rows, In1<Index> selection) {
    require(!rows.selection, "the rows are a selection already");
    require_between(0, rows.n_stored(), "a selected row is out of range", selection);
    Block out = rows;
    out.selection = selection;
    return out;
}

template <class T>
void bind_blocks(nb::module_& m, const char* dense_name, const char* sparse_name) {
    nb::class_<DenseBlock<T>>(m, dense_name);
    m.def("dense_rows", &dense_rows<T>);
    nb::class_<SparseBlock<T>>(m, sparse_name);
    m.def("sparse_rows", &sparse_rows<T>);
}

}  // namespace

void bind_machine(nb::module_& m) {
    m.attr("ROW_QUANTUM") = kQuantum;
    m.attr("LINE_BYTES") = kLineBytes;
    m.def("instruction_set", [] { return std::string(kernels().instruction_set); });
    m.def("available_instruction_sets", &available_instruction_sets);
    m.def("use_instruction_set", &use_instruction_set);
    bind_blocks<float>(m, "DenseRowsFloat32", "SparseRowsFloat32");
    bind_blocks<double>(m, "DenseRowsFloat64", "SparseRowsFloat64");
    for_each_block([&]<class Block>() { m.def("select_rows", &select_rows<Block>); });
}

}  // namespace coterie
