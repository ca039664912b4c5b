"""How is data that is larger than memory prepared? Only `pydaub prepare` needs these modules.

`external` runs the passes: `survey` reads the file once, `scatter` sends each row to a bucket, and `gather` sorts the
buckets into prepared data. `blocks` and `files` read a file in pieces; `plan` computes the place of each row.
"""
