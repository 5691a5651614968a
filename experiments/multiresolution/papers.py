"""The three experiments, the papers' own beside them, and the registrations that are run. Figures are those the papers print."""
from cases import Experiment, Method, Paper

DEFAULTS = (Method("ffdreg", "ffdreg"), Method("fluidreg", "fluidreg"))

LIVER = Experiment(
    "liver", "Liver, coarse to fine: breathing, where the liver slides along the ribs.",
    (Paper("Ikeda et al. 2014, table 2 and fig. 7",
           "Three levels of 2.68, 1.34 and 0.67 mm (128x128x74 to 512x512x296 voxels), control points 42.88, 21.44 and 10.72 mm apart, NMI "
           "and steepest descent; 4 pairs of liver CT in 23.6 to 28.5 s on a GTX 580 (180.8 to 233.8 s with the histogram in "
           "global memory).",
           "The paper reports times and no accuracy, so there is nothing to compare ours with but the seconds. Ours are MR of 25 and 27 "
           "slices and a phantom, on the processor named above. \"ffdreg as Ikeda\" is its scheme: three levels, control points 16 voxels "
           "apart on each of them, NMI, gradient descent, without a discrete start; the log-Jacobian penalty stays, against folds."),),
    (*DEFAULTS, Method("ffdreg as Ikeda", "ffdreg", ("-s", "nmi", "--levels", "3", "--spacing", "16vox", "--optimizer", "gradient",
                                                     "--total-variation", "0", "--start", "none"))))

LUNG = Experiment(
    "lung", "Lung, coarse to fine: the motion of the diaphragm, two visits, two people.",
    (Paper("Ledig and Chefd'hotel 2010, tables 2 and 4",
           "Lung CT in inspiration and expiration, nonrigid, forces of MI smoothed by a recursive Gaussian: 128x128x128 in 9.3 s on the "
           "CPU and 2.8 s on a Tesla C1060, 256x256x256 in 127.4 s and 23.1 s (MBE and BC; 3.1 s and 25.0 s with STL).",
           "The paper shows its result in a figure and reports no accuracy. Ours are CT of one lung at two visits, MR of two people and a "
           "phantom. \"fluidreg as Ledig\" is its scheme: forces of MI, recursive Gaussian, without a discrete start."),),
    (*DEFAULTS, Method("fluidreg as Ledig", "fluidreg", ("-s", "mi", "--smoother", "recursive", "--start", "none"))))

BRAIN = Experiment(
    "brain", "Brain, coarse to fine: from one person to another, and what a year takes from one.",
    (Paper("Lee et al. 2012, figs. 2 and 3",
           "Viscous fluid with L2 and the symmetric Kullback-Leibler term; MRI of 192x128x192 voxels onto a template; 128x128x128 in 24 s "
           "on a GTX 480 (35 minutes by one CPU thread), 240x240x240 in 2.5 minutes (more than 7 hours). GPU and CPU differ by at "
           "most 0.5 voxel.",
           "The paper shows pictures and no overlap of labels. Its question, whether the method measures change without bias, is asked of "
           "the atrophy phantom, where the truth is known; there `fluidreg --symmetric` and `--kl` both run."),
     Paper("Li et al. 2015, table 7 and figs. 15 and 16",
           "Affine, four stages of 8, 4, 2 and 1 mm (20,480 to 10,485,760 voxels), correlation ratio; ten OASIS heads onto OA_0001 in "
           "2.63 s by the best scheme on Kepler (145.3 s on the CPU). Judged by the RMS of intensities (fig. 16, drawn only).",
           "Ours goes on from the affine by nonrigid levels and is judged by labels; its row \"affine\" is what their experiment ends "
           "with, of two other OASIS heads."),
     Paper("Shams et al. 2010, table 1",
           "Rigid CT to MR of the RIRE patients: median errors 1.48 mm (T1), 1.44 mm (T2), 1.48 mm (PD).",
           "A rigid experiment between modalities: `experiments/rire/rire.py` runs it on the same distribution.")),
    DEFAULTS)

EXPERIMENTS = {e.name: e for e in (LIVER, LUNG, BRAIN)}
