#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_kernels, m) {
    m.attr("__version__") = COTERIE_VERSION;
    coterie::bind_machine(m);
    coterie::bind_centers(m);
    coterie::bind_seeding(m);
    coterie::bind_graphs(m);
    coterie::bind_mixture(m);
    coterie::bind_laplacian_kmodes(m);
    coterie::bind_convex(m);
    coterie::bind_total_variation(m);
}
