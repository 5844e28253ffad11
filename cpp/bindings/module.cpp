#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "dispatch.hpp"

NB_MODULE(_kernels, m) {
    m.attr("__version__") = COTERIE_VERSION;
    m.def("instruction_set", [] { return std::string(coterie::kernels().instruction_set); });
    m.def("available_instruction_sets", &coterie::available_instruction_sets);
    m.def("use_instruction_set", &coterie::use_instruction_set, nanobind::arg("name"));
    coterie::bind_centers(m);
    coterie::bind_mixture(m);
    coterie::bind_laplacian_kmodes(m);
    coterie::bind_graphs(m);
    coterie::bind_convex(m);
    coterie::bind_total_variation(m);
}
