// How threads wait for each other.
#pragma once

namespace freeflow::apps {

/// Starts the program anew with GOMP_SPINCOUNT set, unless OMP_WAIT_POLICY or GOMP_SPINCOUNT says
/// how threads are to wait. libgomp's own threads spin for milliseconds before they sleep, so that
/// beside other work they take the cores from those that would compute; it reads its environment
/// while it is loaded, before main. Call first in main; returns in the program that computes.
void let_waiting_threads_sleep(char** arguments);

}  // namespace freeflow::apps
