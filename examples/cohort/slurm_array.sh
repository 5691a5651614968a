#!/bin/bash
# Registers the pairs of a table as an array of Slurm jobs, SIZE pairs each:
#   sbatch --array=0-$(( $(./part pairs.tsv 20) - 1 )) slurm_array.sh pairs.tsv 20 [OPTIONS OF FLUIDREG]
# A job that was killed or requeued goes on where it stopped; so does the same command.
#SBATCH --job-name=fluidreg
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --output=fluidreg-%A_%a.log
set -euo pipefail

table=$1 size=$2
shift 2
# Slurm runs a copy of this script: ./part is looked for where sbatch was called.
part=$("${SLURM_SUBMIT_DIR:-.}/part" "$table" "$size" "$SLURM_ARRAY_TASK_ID")
exec "${FLUIDREG:-fluidreg}" --pairs "$part" --summary "${part%.tsv}.summary.tsv" \
  --threads "${SLURM_CPUS_PER_TASK:-0}" --verbose "$@"
