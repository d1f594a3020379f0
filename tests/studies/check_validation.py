#!/usr/bin/env python3
"""What `forescale validate` must reach: check_validation.py VALIDATION.json.

At least 35 scored performance predictions, median absolute error under 15 %, no row without an
answer or a reason, and a cause for each miss above 30 %."""
import json
import statistics
import sys

LEAST_SCORED = 35
MEDIAN_BELOW = 0.15
MISS_ABOVE = 0.30

with open(sys.argv[1], encoding="utf-8") as file:
    rows = json.load(file)["rows"]
scored = [row for row in rows if row["role"] == "prediction" and row["error"] is not None]
errors = [abs(row["error"]) for row in scored]
problems = []
if len(scored) < LEAST_SCORED:
    problems.append(f"{len(scored)} predictions scored, at least {LEAST_SCORED} wanted")
if not errors or statistics.median(errors) >= MEDIAN_BELOW:
    problems.append(f"median absolute error {statistics.median(errors or [1]):.3f}")
for row in rows:
    if row["role"] == "prediction" and row["error"] is None:
        problems.append(f"{row['id']}: a prediction without an answer: {row.get('note')}")
for row in scored:
    if abs(row["error"]) > MISS_ABOVE and not row.get("cause"):
        problems.append(f"{row['id']}: off by {100 * row['error']:.0f} %, no cause stated")
print(f"{len(scored)} scored, median absolute error {100 * statistics.median(errors or [1]):.1f} %")
print("\n".join(problems))
sys.exit(1 if problems else 0)
