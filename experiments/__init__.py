"""The harness: methods on instances in killable processes, the gap study, and the commands."""
