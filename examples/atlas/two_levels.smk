# Templates on two levels, for several time points of each subject: snakemake -s two_levels.smk --cores all, with a table
# subjects/NAME.tsv for every subject: columns image and name, a row for each time point. Written: every subject's
# template, the template of these, and the time points in its space, with their change against their subject's mean.
import csv
import re
from pathlib import Path

SUBJECTS = glob_wildcards("subjects/{subject,[^/]+}.tsv").subject
IMAGES = {}  # of (subject, time point)
for subject in SUBJECTS:
    with open(f"subjects/{subject}.tsv", newline="", encoding="utf-8-sig") as table:
        for row in csv.DictReader((line for line in table if line.strip() and line[0] != "#"), delimiter="\t"):
            IMAGES[subject, row["name"]] = str(Path("subjects") / row["image"])
SUBJECT_OF, POINTS = zip(*IMAGES)

wildcard_constraints:
    subject="|".join(map(re.escape, SUBJECTS)),
    point="|".join(map(re.escape, POINTS))

rule all:
    input:
        expand("group/{subject}/{point}.nii.gz", zip, subject=SUBJECT_OF, point=POINTS),
        expand("group/{subject}/{point}_change.nii.gz", zip, subject=SUBJECT_OF, point=POINTS)

# Rigid: a subject's size stays a part of its change.
rule subject:
    input: "subjects/{subject}.tsv"
    output: "subjects/{subject}/template.nii.gz"
    params: prefix="subjects/{subject}/"
    threads: workflow.cores
    shell:
        "atlas -i {input:q} -o {params.prefix:q} --linear rigid --transforms --jacobians "
        "--threads {threads} --verbose"

rule group:
    input: expand("subjects/{subject}/template.nii.gz", subject=SUBJECTS)
    output: "group/template.nii.gz"
    threads: workflow.cores
    shell: "atlas -i {input:q} -o group/ --transforms --threads {threads} --verbose"

# Group template to subject's template, and that to the time point: images are sampled once.
rule time_point:
    input:
        group="group/template.nii.gz",
        image=lambda wildcards: IMAGES[wildcards.subject, wildcards.point]
    output:
        whole="group/{subject}/{point}_whole.nii.gz",
        image="group/{subject}/{point}.nii.gz",
        change="group/{subject}/{point}_change.nii.gz"
    params:
        subject=["-t", "group/{subject}_1Warp.nii.gz", "-t", "group/{subject}_0GenericAffine.mat"],
        point=["-t", "subjects/{subject}/{point}_1Warp.nii.gz", "-t", "subjects/{subject}/{point}_0GenericAffine.mat"],
        jacobian="subjects/{subject}/{point}_LogJacobian.nii.gz"
    shell:
        "regtool compose -r {input.group} {params.subject:q} {params.point:q} -o {output.whole:q} && "
        "regtool apply -i {input.image:q} -r {input.group} -t {output.whole:q} -o {output.image:q} && "
        "regtool apply -i {params.jacobian:q} -r {input.group} {params.subject:q} -o {output.change:q}"
