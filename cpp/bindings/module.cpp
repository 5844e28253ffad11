#include <nanobind/nanobind.h>

#include "bindings.hpp"
#include "dispatch.hpp"

#if defined(__clang__)
#define COTERIE_COMPILER "Clang " __clang_version__
#else
#define COTERIE_COMPILER "GCC " __VERSION__
#endif

NB_MODULE(_kernels, m) {
    // A daemon thread that is in a kernel when the process ends keeps its arrays.
    nanobind::set_leak_warnings(false);
    coterie::kernels();  // an ImportError where this processor runs none of those that were compiled
    m.attr("__version__") = COTERIE_VERSION;
    m.attr("__compiler__") = COTERIE_COMPILER;
    coterie::bind_machine(m);
    coterie::bind_centers(m);
    coterie::bind_graphs(m);
    coterie::bind_mixture(m);
    coterie::bind_laplacian_kmodes(m);
    coterie::bind_convex(m);
    coterie::bind_total_variation(m);
    coterie::bind_multilevel(m);
}
