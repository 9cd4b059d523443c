"""What every room uses: files, progress, time, and what the machine offers."""
