"""Runs as zip files: `write.py` exports one, `read.py` imports one.

Threat model of an import. Any visitor may send any bytes, and the program that made them need not be ours: no size,
name, number or text in them is trusted. A hostile archive must not write outside its own folder, run code, replace or
imitate a run that is stored, take much memory or time, or end in anything but one sentence (DamagedRun). It may contain
false results: an imported run is marked as such, and only the visitor who imported it is shown it as the result of its
configuration. What is checked, in this order, and what it may cost (U = LINEAGE_MOST_UPLOAD, 50 MB):

    1. one import at a time in this process           others wait for up to 30 s
    2. the size of the upload                         U, refused by the server before a page runs
    3. the list of entries: names, kinds, sizes       1 MB; nothing is extracted to disk
    4. the contents, counted while they are unpacked  U in memory; a description (JSON) at most 1 MB
    5. config.json: types, ranges, versions, limits   `jobs/limits.py`, as for a training: no model is built
    6. card.json, tokenizer.json, the steps that have weights
    7. the shapes of weights and optimizer state      from a model on torch's meta device, without memory; its number
                                                      of parameters must be that on the card
    8. the curves: shapes, ranges, the card's metrics a tensor takes as much memory as its bytes in the file; a parquet
                                                      file of an earlier version is decoded in a process of limited
                                                      memory, for up to 60 s
    9. an n-gram: its text is counted again           only now, if its file is large enough for its number of n-grams;
                                                      about 2 s and 0.3 GB for Tiny Shakespeare
   10. the tensors: exactly these names, shapes,      U
       types, and finite numbers
   11. the run is written by the store's own writer   U on disk, in a temporary folder; then it is read again, compared
                                                      and moved to its place, where no run may be yet

Nothing is unpickled: safetensors is the only format of weights, whose sizes the library compares with the file.
"""
